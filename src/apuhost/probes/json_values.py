"""JSON that a host sends, read totally: wrong text or a wrong type is a ParseError."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from apuhost.probes import ParseError

Kind = TypeVar("Kind")

_WORDS: Mapping[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def load(text: str) -> Any:  # noqa: ANN401  (JSON has no narrower type)
    """Return the value of a JSON text.

    Raises:
        ParseError: no JSON, nested too deeply, or a number that is too long.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"no JSON: {error}") from error


def load_object(text: str) -> Mapping[str, Any]:
    """Return the members of a JSON object.

    Raises:
        ParseError: no JSON, or another value than an object.
    """
    return checked(load(text), dict)


def checked(value: object, kind: type[Kind]) -> Kind:
    """Return the value if it is exactly of this type: to JSON, true is no number.

    Raises:
        ParseError: it is of another type.
    """
    if type(value) is not kind:
        raise ParseError(f"JSON holds {_word(type(value))} where {_word(kind)} belongs")
    return value


def member(members: Mapping[str, Any], name: str, default: Kind) -> Kind:
    """Return a member of the default's type; the default where it is absent or null.

    Raises:
        ParseError: it is of another type.
    """
    value = members.get(name)
    return default if value is None else checked(value, type(default))


def texts(members: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of strings; none where it is absent or null.

    Raises:
        ParseError: no list, or something else than strings in it.
    """
    values: list[object] = member(members, name, [])
    return tuple(checked(value, str) for value in values)


def objects(members: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], ...]:
    """Return a list of objects; none where it is absent or null.

    Raises:
        ParseError: no list, or something else than objects in it.
    """
    values: list[object] = member(members, name, [])
    return tuple(checked(value, dict) for value in values)


def _word(kind: type) -> str:
    return _WORDS.get(kind, kind.__name__)
