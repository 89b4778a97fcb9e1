"""What the models role may be told."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, field_validator

from apuhost.probes.model_names import short_name
from apuhost.settings import options
from apuhost.settings.model import Model, each_once, refuse

# HOST/NAMESPACE/MODEL:TAG with Ollama's own lengths (types/model/name.go); they become a path.
_NAME = re.compile(
    r"(?:(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,349}(?::[0-9]{1,5})?/)?[A-Za-z0-9_][A-Za-z0-9_-]{0,79}/)?"
    r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,79})?"
)
_DIGEST = re.compile(r"[0-9a-f]{64}")

Option = bool | int | float | str | list[str]


def gpu_layers(parameters: Mapping[str, Any]) -> int | None:
    """Layers that num_gpu wants on the GPU; None: as many as fit, as for a number below 0."""
    found = parameters.get("num_gpu")
    return found if isinstance(found, int) and found >= 0 else None


class PinnedModel(Model):
    """One model: what it is, how it is run."""

    name: str
    digest: str = ""
    parameters: dict[str, Option] = Field(default_factory=dict)
    preload: bool = False
    kv_bytes_per_token: Annotated[int, Field(ge=1, le=100_000_000)] | None = None

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError("Ollama takes no such name")
        return short_name(value)

    @field_validator("digest")
    @classmethod
    def _digest(cls, value: str) -> str:
        plain = value.removeprefix("sha256:")
        if value and not _DIGEST.fullmatch(plain):
            raise ValueError("not 64 hex digits")
        return plain

    @field_validator("parameters", mode="before")
    @classmethod
    def _options(cls, values: object) -> object:
        if isinstance(values, Mapping):
            refuse(options.fault(name, value) for name, value in values.items())
        return values


class ModelsSettings(Model):
    """The models role: what the host holds."""

    models_list: list[PinnedModel]

    @property
    def preloaded(self) -> tuple[PinnedModel, ...]:
        """The models that are loaded after every boot."""
        return tuple(model for model in self.models_list if model.preload)

    @field_validator("models_list")
    @classmethod
    def _once(cls, values: list[PinnedModel]) -> list[PinnedModel]:
        each_once(model.name.lower() for model in values)
        return values
