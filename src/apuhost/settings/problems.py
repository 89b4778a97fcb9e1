"""What pydantic finds wrong in a setting, in a line for people: what it is and what is allowed."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from apuhost.environment import secret
from apuhost.nearest import hint
from apuhost.probes.secrets import HIDDEN, without_logins
from apuhost.settings import rewriting
from apuhost.settings.connection import SECRETS

SHOWN_LENGTH = 60


@dataclass(frozen=True)
class Problem:
    """One setting that cannot be right: `sentence` says what it is and what is allowed."""

    host: str
    key: str
    sentence: str


def of(
    error: ValidationError, host: str, values: Mapping[str, Any], allowed: Mapping[str, str]
) -> tuple[Problem, ...]:
    """One problem for each key; of a union every member complains."""
    wrong: dict[tuple[str | int, ...], list[ErrorDetails]] = {}
    for detail in error.errors():
        wrong.setdefault(_place(detail, values), []).append(detail)
    return tuple(
        _problem(host, place, values, allowed, details) for place, details in wrong.items()
    )


def _place(detail: ErrorDetails, values: Mapping[str, Any]) -> tuple[str | int, ...]:
    """Where in a value it lies: number and key of a list's entry, the name of one with a value.

    Not the member of a union, which pydantic tells there, too: nobody wrote it.
    """
    place = detail["loc"]
    if len(place) > 1 and isinstance(place[1], int):
        return place[:3]
    value = values.get(str(place[0]))
    if len(place) > 1 and isinstance(value, Mapping):
        return place[:2] if place[1] in value or detail["type"] == "missing" else place[:1]
    return place[:1]


def _problem(
    host: str,
    place: tuple[str | int, ...],
    values: Mapping[str, Any],
    allowed: Mapping[str, str],
    details: Sequence[ErrorDetails],
) -> Problem:
    key, detail = str(place[0]), details[0]
    where = key + "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in place[1:]
    )
    value = detail["input"] if len(place) > 1 else values.get(key)
    said = f"{where} is {shown(where, value)}{_meant(detail, allowed[key])}"
    said = said if detail["type"] != "missing" else f"{where} is missing"
    why = _why(detail) or _instead(where, details)
    meaning = f"{why} ({allowed[key]})" if why else allowed[key]
    return Problem(host, key, line(f"{said}: {meaning}"))


def _instead(where: str, details: Sequence[ErrorDetails]) -> str:
    """How the value is to be written, where only its type is wrong."""
    found = next(filter(None, map(rewriting.of_detail, details)), None)
    if not found:
        return ""
    value = found.value
    return f"{found.how}: {value if isinstance(value, bool) else shown(where, value)}"


def _meant(detail: ErrorDetails, allowed: str) -> str:
    """The nearest right word, where a key or one of a few words was misspelt."""
    written = {"extra_forbidden": detail["loc"][-1], "literal_error": detail["input"]}
    word = None if detail["loc"][0] in SECRETS else written.get(detail["type"])
    return hint(word, re.findall(r"[^\W\d]\w*", allowed)) if isinstance(word, str) else ""


def line(sentence: str) -> str:
    """One line that any terminal can show, whatever an inventory's words hold."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in sentence)


def _why(detail: ErrorDetails) -> str:
    """What our own validators say; pydantic's words say no more than `allowed`."""
    if detail["type"] != "value_error":
        return ""
    return without_logins(detail["msg"].removeprefix("Value error, "))


def _without_secrets(value: object) -> object:
    """The value for people: what a name calls a secret is not repeated."""
    if not isinstance(value, Mapping):
        return value
    return {key: HIDDEN if secret(str(key)) else part for key, part in value.items()}


def shown(where: str, value: object) -> str:
    """A value, cut when its secrets are out of it: a key's name may say that it has a login."""
    if where in SECRETS:
        return str(value)  # its kind in words: that is all that is here of it
    _, nested, name = where.rpartition(".")
    if nested and secret(name):
        return HIDDEN
    try:
        text = json.dumps(_without_secrets(value), ensure_ascii=False, default=str)
    except (ValueError, TypeError):
        return "not a plain value"
    text = without_logins(f"{where}={text}").removeprefix(f"{where}=")
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…"
