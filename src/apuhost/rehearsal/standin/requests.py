"""What the API's requests say, checked as Ollama checks it; replies as Go marshals them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import durations, names
from .durations import FOREVER, SECOND
from .names import Name

BAD_REQUEST, NOT_FOUND, UNAVAILABLE, INTERNAL = 400, 404, 503, 500
_ESCAPED = {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "\u2028": r"\u2028",
            "\u2029": r"\u2029"}  # fmt: skip


class ApiError(Exception):
    """A request that is answered with `{"error": …}`.

    Attributes:
        status: the HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Body:
    """A request's JSON object."""

    values: Mapping[str, Any]

    def text(self, *keys: str) -> str:
        """The first of the keys that holds a text, else an empty one."""
        for key in keys:
            value = self.values.get(key)
            if value is not None and not isinstance(value, str):
                raise _mistyped(key, value, "string")
            if value:
                return str(value)
        return ""

    def flag(self, key: str) -> bool | None:
        """True, false, or None when it is not given."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise _mistyped(key, value, "bool")
        return value

    def object(self, key: str) -> dict[str, Any]:
        """A JSON object, empty when it is not given."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, dict):
            raise _mistyped(key, value, "map[string]interface {}")
        return value or {}

    def list(self, key: str) -> list[Any]:
        """A JSON array, empty when it is not given."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, list):
            raise _mistyped(key, value, "[]")
        return value or []

    @property
    def streams(self) -> bool:
        """Answers come in pieces unless that is switched off."""
        return self.flag("stream") is not False

    @property
    def name(self) -> Name:
        """The model that is meant.

        Raises:
            ApiError: there is none, or no model can be named so.
        """
        name = names.parse(self.text("model", "name"))
        if not name.valid:
            raise ApiError(BAD_REQUEST, "invalid model name")
        return name

    @property
    def keep_alive(self) -> int | None:
        """Nanoseconds, None when it is not given: a number of seconds, or a duration."""
        value = self.values.get("keep_alive")
        if value is None:
            return None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return FOREVER if value < 0 else int(value * SECOND)
        if not isinstance(value, str):
            raise ApiError(BAD_REQUEST, f"Unsupported type: '{_go_type(value)}'")
        parsed = durations.parse(value)
        if parsed is None:
            raise ApiError(BAD_REQUEST, f"time: {_duration_reason(value)}")
        return FOREVER if parsed < 0 else parsed


def parse(data: bytes) -> Body:
    """A request's body.

    Raises:
        ApiError: it is empty, or no JSON object.
    """
    if not data.strip():
        raise ApiError(BAD_REQUEST, "missing request body")
    try:
        values = json.loads(data)
    except ValueError as error:
        raise ApiError(BAD_REQUEST, _json_reason(data)) from error
    if not isinstance(values, dict):
        raise ApiError(
            BAD_REQUEST, f"json: cannot unmarshal {_json_type(values)} into Go value of type api"
        )
    return Body(values)


def pack(reply: Mapping[str, object]) -> bytes:
    """JSON as Go writes it: compact, `<`, `>` and `&` escaped."""
    text = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
    for char, escaped in _ESCAPED.items():
        text = text.replace(char, escaped)
    return text.encode("utf-8", errors="replace")


def _mistyped(key: str, value: object, wanted: str) -> ApiError:
    return ApiError(
        BAD_REQUEST,
        f"json: cannot unmarshal {_json_type(value)} into Go struct field .{key} of type {wanted}",
    )


def _json_type(value: object) -> str:
    kinds = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
    return kinds.get(type(value), "object")


def _go_type(value: object) -> str:
    return {bool: "bool", list: "[]interface {}"}.get(type(value), "map[string]interface {}")


def _duration_reason(value: str) -> str:
    digits = value.lstrip("+-").replace(".", "", 1)
    if digits.isdigit():
        return f'missing unit in duration "{value}"'
    return f'invalid duration "{value}"'


def _json_reason(data: bytes) -> str:
    first = data.strip()[:1].decode(errors="replace")
    if first in "{[":
        return "unexpected EOF"
    return f"invalid character '{first}' looking for beginning of value"
