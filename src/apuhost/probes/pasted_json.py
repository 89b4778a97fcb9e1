"""JSON objects in a text as people paste it: among other words, broken by a terminal, cut."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

Kind = TypeVar("Kind")

_DEEPEST = 32
MOST = 2**63
"""More than Go counts to in 63 bits."""

_STRING = r'"(?:[^"\\\x00-\x1f]|\\.)*+'
_TOKEN = re.compile(
    rf'[ \t\r\n]*+(?:(?P<opening>\{{(?=\s*+["}}]|\Z)|\[)|(?P<closing>[}}\]])|(?P<comma>,)|:'
    rf'|{_STRING}"|true|false|null|-?[0-9][-+.0-9Ee]*+)'
)
_CUT_OFF = re.compile(rf"[ \t\r\n]*+(?:{_STRING}\\?|[-.a-z]*+)?\Z")
_CLOSING = {"{": "}", "[": "]"}


def objects_in(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the outermost objects of a text; of one that is cut at the end, its whole members.

    Where there is none, lines are put together: a terminal breaks them in the middle of a word.
    """
    found = _objects(text)
    first = next(found, None)
    if first is not None:
        yield from chain((first,), found)
    elif "\n" in text:
        yield from _objects(text.replace("\r", "").replace("\n", ""))


def object_from(text: str, name: str) -> Mapping[str, Any] | None:
    """Return an object whose beginning is cut, from the last member of this name on."""
    places = list(re.finditer(rf',\s*("{re.escape(name)}"\s*:)', text))
    return next(_objects("{" + text[places[-1].start(1) :]), None) if places else None


def word(members: Mapping[str, Any], name: str) -> str | None:
    """Return a member that is a string and not empty; else None."""
    return typed(members, name, str) or None


def count(members: Mapping[str, Any], name: str) -> int | None:
    """Return a member that is a whole number of bytes, tokens or nanoseconds; else None."""
    value = members.get(name)
    return value if type(value) is int and 0 <= value < MOST else None


def typed(members: Mapping[str, Any], name: str, kind: type[Kind]) -> Kind:
    """Return a member of this type; an empty one where it is absent or of another type."""
    value = members.get(name)
    return value if type(value) is kind else kind()


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    end = 0
    while (at := text.find("{", end)) >= 0:
        end = at + 1
        if not _is_inside(text, at):
            value, end = _object(text, at)
            if value is not None:
                yield value


def _is_inside(text: str, at: int) -> bool:
    """Whether it is a member of another object or an element of a list, by what stands before."""
    before = _before(text, at)
    if before == ":":
        return _before(text, text.rindex(":", 0, at)) == '"'
    return before in {",", "[", "{"}


def _before(text: str, at: int) -> str:
    while at and text[at - 1].isspace():
        at -= 1
    return text[at - 1] if at else ""


def _object(text: str, begin: int) -> tuple[Mapping[str, Any] | None, int]:
    """An object and where it ends; what is whole of it, where the text's end cuts it.

    None where there is no object, and where to go on.

    json would count the lines before every place that is none: the square of the text's length.
    """
    open_, whole, at, end = "", "", begin, begin
    while token := _TOKEN.match(text, at):
        at = token.end()
        if token["opening"]:
            open_ = _CLOSING[token["opening"]] + open_
        elif token["closing"]:
            if token["closing"] != open_[0]:
                return None, at
            open_ = open_[1:]
        elif not token["comma"]:
            continue
        end, whole = token.start() if token["comma"] else at, open_
        if not open_:
            return _loaded(text[begin:end]), end
        if len(open_) > _DEEPEST:
            return None, at
    if end == begin or not _CUT_OFF.match(text, at):
        return None, begin + 1
    return _loaded(text[begin:end] + whole), len(text)


def _loaded(text: str) -> Mapping[str, Any] | None:
    try:
        return dict(json.loads(text))
    except ValueError:
        return None
