"""Settings: one frozen model per role, filled from the role's defaults and the host's data.

The defaults stand in roles/*/defaults/main.yml, what a variable may be in words in
meta/argument_specs.yml; here are the types and ranges.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, ValidationError

from apuhost import roles
from apuhost.nearest import hint
from apuhost.settings import problems
from apuhost.settings.boot import BootSettings
from apuhost.settings.connection import (
    CONNECTION_DESCRIPTIONS,
    PYINFRA_KEYS,
    SECRETS,
    ConnectionSettings,
    judged,
)
from apuhost.settings.docker import DockerSettings
from apuhost.settings.host import HostSettings
from apuhost.settings.kernel import KernelSettings
from apuhost.settings.mirror import MirrorSettings, Part
from apuhost.settings.models import ModelsSettings
from apuhost.settings.ollama import OllamaSettings
from apuhost.settings.problems import Problem, line, shown
from apuhost.settings.vulkan import VulkanSettings

Filled = TypeVar("Filled", bound=BaseModel)

ROLES: Mapping[str, type[BaseModel]] = {
    "mirror": MirrorSettings,
    "kernel": KernelSettings,
    "vulkan": VulkanSettings,
    "docker": DockerSettings,
    "ollama": OllamaSettings,
    "models": ModelsSettings,
    "boot": BootSettings,
}
"""Every role with what it may be told, in the order in which a deploy applies them."""

_PARTS: Mapping[str, type[BaseModel]] = {**ROLES, roles.HOST: HostSettings}


@dataclass(frozen=True)
class Settings:
    """All settings of one host."""

    mirror: MirrorSettings
    kernel: KernelSettings
    vulkan: VulkanSettings
    docker: DockerSettings
    ollama: OllamaSettings
    models: ModelsSettings
    boot: BootSettings
    host: HostSettings

    @property
    def chosen(self) -> tuple[str, ...]:
        """The roles of the host, in the order of a deploy."""
        return tuple(role for role in ROLES if role in self.host.host_roles)

    @property
    def applied(self) -> tuple[str, ...]:
        """The same, but mirror only where one is named: else what one left is taken back."""
        without = "" if self.mirror.mirror_address else "mirror"
        return tuple(role for role in self.chosen if role != without)

    def mirrored(self, part: Part) -> bool:
        """Whether the host gets this part from the mirror, and from nowhere else."""
        return "mirror" in self.applied and part in self.mirror.mirror_parts


def resolve(host: str, data: Mapping[str, Any]) -> tuple[Settings | None, tuple[Problem, ...]]:
    """Settings of one host from its merged data, or every problem that stands in the way."""
    problems = [*unknown(host, data), *_connection(host, data)]
    filled: dict[str, Any] = {}
    for role, model in _PARTS.items():
        values = roles.defaults(role) | _of(model, data)
        filled[role], wrong = _fill(host, model, values, roles.descriptions(role))
        problems += wrong
    if problems:
        return None, tuple(problems)
    found = Settings(**filled)
    together = (*_unloaded(host, found), *_taken(host, found))
    return (None if together else found), together


def _unloaded(host: str, found: Settings) -> Iterator[Problem]:
    """What is preloaded must stay: neither of the two settings is wrong by itself."""
    names = ", ".join(model.name for model in found.models.preloaded)
    if names and found.ollama.keeps_none:
        key, value = "ollama_keep_alive", found.ollama.ollama_keep_alive
        sentence = (
            f"{key} is {shown(key, value)}: {names} (preload) would be gone at once; -1 keeps it"
        )
        yield Problem(host, key, line(sentence))


def _taken(host: str, found: Settings) -> Iterator[Problem]:
    """A port that the mirror's server and Ollama's API would both want."""
    mirror = found.mirror
    for key in ("mirror_registry_port", "mirror_files_port"):
        if mirror.mirror_serve and getattr(mirror, key) == found.ollama.port:
            yield Problem(host, key, f"{key} is {found.ollama.port}: ollama_listen has that port")


def as_data(settings: Settings) -> dict[str, Any]:
    """Every setting as an inventory would say it, in JSON's types: `resolve` reads it back."""
    parts: Iterator[BaseModel] = (getattr(settings, part) for part in _PARTS)
    return {key: value for part in parts for key, value in part.model_dump(mode="json").items()}


def variables() -> tuple[str, ...]:
    """Every variable that an inventory may set for apuhost."""
    return tuple(name for model in _PARTS.values() for name in model.model_fields)


def lists() -> tuple[str, ...]:
    """Those of the variables whose value is a list."""
    return tuple(
        name
        for model in _PARTS.values()
        for name, field in model.model_fields.items()
        if get_origin(field.annotation) is list
    )


@cache
def texts() -> frozenset[str]:
    """Keys whose value is a text, whatever it looks like: "0042" is no number there."""
    models: tuple[type[BaseModel], ...] = (*_PARTS.values(), ConnectionSettings)
    named = ((field.alias or name, field) for m in models for name, field in m.model_fields.items())
    return SECRETS | {key for key, field in named if field.annotation is str}


def unknown(host: str, data: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Keys that are neither a setting nor pyinfra's own, each with the nearest right one."""
    known = (*variables(), *PYINFRA_KEYS)
    return tuple(
        Problem(host, key, line(f"{key} is not a setting{hint(key, known)}"))
        for key in data
        if key not in known
    )


def _connection(host: str, data: Mapping[str, Any]) -> tuple[Problem, ...]:
    return _fill(host, ConnectionSettings, judged(data), CONNECTION_DESCRIPTIONS)[1]


def _of(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key in model.model_fields}


def _fill(
    host: str, model: type[Filled], values: Mapping[str, Any], allowed: Mapping[str, str]
) -> tuple[Filled | None, tuple[Problem, ...]]:
    try:
        return model.model_validate(values), ()
    except ValidationError as error:
        return None, problems.of(error, host, values, allowed)
