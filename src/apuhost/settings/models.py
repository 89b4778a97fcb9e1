"""What the models role may be told."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import Field, field_validator

from apuhost.probes.model_names import short_name
from apuhost.settings.model import Model

# HOST/NAMESPACE/MODEL:TAG with Ollama's own lengths (types/model/name.go); they become a path.
_NAME = re.compile(
    r"(?:(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,349}(?::[0-9]{1,5})?/)?[A-Za-z0-9_][A-Za-z0-9_-]{0,79}/)?"
    r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,79})?"
)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SURROGATE = re.compile("[\ud800-\udfff]")
LARGEST = 2**31 - 1

Option = bool | int | float | str | list[str]

OPTIONS: dict[str, type | tuple[type, ...]] = {
    "draft_num_predict": int,
    "frequency_penalty": (int, float),
    "main_gpu": int,
    "min_p": (int, float),
    "mirostat": int,
    "mirostat_eta": (int, float),
    "mirostat_tau": (int, float),
    "num_batch": int,
    "num_ctx": int,
    "num_gpu": int,
    "num_keep": int,
    "num_predict": int,
    "num_thread": int,
    "penalize_newline": bool,
    "presence_penalty": (int, float),
    "repeat_last_n": int,
    "repeat_penalty": (int, float),
    "seed": int,
    "stop": list,
    "temperature": (int, float),
    "tfs_z": (int, float),
    "top_k": int,
    "top_p": (int, float),
    "typical_p": (int, float),
    "use_mmap": bool,
}
"""Ollama's options (api/types.go of 0.33): one that it does not know it ignores."""


LEAST = {"num_batch": 1, "num_ctx": 1}


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

    @field_validator("parameters")
    @classmethod
    def _options(cls, values: dict[str, Option]) -> dict[str, Option]:
        for name, value in values.items():
            _check_option(name, value)
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
        names = [model.name.lower() for model in values]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValueError(f"{twice} stands twice")
        return values


def _check_option(name: str, value: object) -> None:
    if name not in OPTIONS:
        near = get_close_matches(name, OPTIONS, n=1)
        raise ValueError(f"Ollama has no option {name!a}{f' ({near[0]}?)' if near else ''}")
    expected = OPTIONS[name]
    # A bool is an int in Python, never in Ollama.
    if isinstance(value, bool) != (expected is bool) or not isinstance(value, expected):
        raise ValueError(f"{name} takes no {value!r}")
    if isinstance(value, int | float) and not abs(value) <= LARGEST:
        raise ValueError(f"{name} is no number for Ollama")
    if isinstance(value, int) and value < LEAST.get(name, value):
        raise ValueError(f"{name} is at least {LEAST[name]}")
    if isinstance(value, list) and _SURROGATE.search("".join(value)):
        raise ValueError(f"{name}: half a character")
