"""Settings: one frozen model per role, filled from the role's defaults and the host's data.

The defaults stand in roles/*/defaults/main.yml, what a variable may be in words in
meta/argument_specs.yml; here are the types and ranges.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from apuhost import roles
from apuhost.settings.connection import (
    CONNECTION_DESCRIPTIONS,
    PYINFRA_KEYS,
    ConnectionSettings,
    judged,
)
from apuhost.settings.host import HOST_DESCRIPTIONS, HostSettings
from apuhost.settings.kernel import KernelSettings

Filled = TypeVar("Filled", bound=BaseModel)

SHOWN_LENGTH = 60


@dataclass(frozen=True)
class Settings:
    """All settings of one host."""

    kernel: KernelSettings
    host: HostSettings


@dataclass(frozen=True)
class Problem:
    """One setting that cannot be right: `sentence` says what it is and what is allowed."""

    host: str
    key: str
    sentence: str


def resolve(host: str, data: Mapping[str, Any]) -> tuple[Settings | None, tuple[Problem, ...]]:
    """Settings of one host from its merged data, or every problem that stands in the way."""
    kernel, kernel_problems = _fill(
        host,
        KernelSettings,
        roles.defaults("kernel") | _of(KernelSettings, data),
        roles.descriptions("kernel"),
    )
    own, own_problems = _fill(host, HostSettings, _of(HostSettings, data), HOST_DESCRIPTIONS)
    problems = (
        *unknown(host, data),
        *_connection(host, data),
        *kernel_problems,
        *own_problems,
    )
    if problems or kernel is None or own is None:
        return None, problems
    return Settings(kernel, own), ()


def variables() -> tuple[str, ...]:
    """Every variable that an inventory may set for apuhost."""
    return (*KernelSettings.model_fields, *HostSettings.model_fields)


def unknown(host: str, data: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Keys that are neither a setting nor pyinfra's own, each with the nearest right one."""
    known = (*variables(), *PYINFRA_KEYS)
    return tuple(
        Problem(host, key, f"{key} is not a setting{_nearest(key, known)}")
        for key in data
        if key not in known
    )


def _nearest(key: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(key, known, n=1, cutoff=0.6)
    return f" ({close[0]}?)" if close else ""


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
        # Of a union every member complains: one sentence a key.
        wrong = {str(detail["loc"][0]): detail for detail in reversed(error.errors())}
        return None, tuple(
            Problem(host, key, f"{key} is {_shown(values.get(key))}: {allowed[key]}{_why(detail)}")
            for key, detail in reversed(wrong.items())
        )


def _why(detail: ErrorDetails) -> str:
    """What our own validators say, in brackets; pydantic's words say no more than `allowed`."""
    if detail["type"] != "value_error":
        return ""
    return f" ({detail['msg'].removeprefix('Value error, ')})"


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError):
        return "not a plain value"
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…"
