"""How a value that is only of the wrong type is to be written: "48" is 48 in quotes."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pydantic_core import ErrorDetails

_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?", re.ASCII)
_SWITCHES = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
}


@dataclass(frozen=True)
class Rewritten:
    """What was meant, and in words how it differs from what was written."""

    value: object
    how: str


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_FITS: Mapping[str, Callable[[object], bool]] = {
    "int_type": lambda value: type(value) is int,
    "float_type": _is_number,
    "bool_type": lambda value: isinstance(value, bool),
    "string_type": lambda value: isinstance(value, str),
    "list_type": lambda value: isinstance(value, list),
    "dict_type": lambda value: isinstance(value, dict),
    "model_type": lambda value: isinstance(value, dict),
}
"""What pydantic asked for, by the type of its error."""

_OF_MODELS: Mapping[str, Callable[[str], object]] = {
    "list_type": lambda name: [{"name": name}],
    "model_type": lambda name: {"name": name},
}
"""A model that is its name only."""

_MOST = 10**9


def of_detail(detail: ErrorDetails) -> Rewritten | None:
    """What an error of pydantic's would take instead."""
    kind, value = detail["type"], detail["input"]
    if detail["loc"][0] == "models_list" and isinstance(value, str) and kind in _OF_MODELS:
        return Rewritten(_OF_MODELS[kind](value), "write it as")
    fits = _FITS.get(kind)
    return of_value(value, fits) if fits else None


def of_value(value: object, fits: Callable[[object], bool]) -> Rewritten | None:
    """The value in another type that fits; None if there is none near."""
    return next((each for each in _meant(value) if fits(each.value)), None)


def hint(value: object, fits: Callable[[object], bool]) -> str:
    """Return `: write it without quotes`, or nothing where no other type would do."""
    found = of_value(value, fits)
    return f": {found.how}" if found else ""


def _meant(value: object) -> Iterator[Rewritten]:
    match value:
        case str():
            yield from _of_text(value)
        case bool():
            return
        case int() | float():
            yield from _of_number(value)
        case [only]:
            yield Rewritten(only, "write it without [ ]")
        case dict():
            yield Rewritten([value], "write it as a list")


def _of_text(text: str) -> Iterator[Rewritten]:
    if _NUMBER.fullmatch(text):
        yield Rewritten(float(text) if "." in text else int(text), "write it without quotes")
    if text.lower() in _SWITCHES:
        yield Rewritten(_SWITCHES[text.lower()], "write it without quotes")
    if text.strip():
        yield Rewritten([each.rstrip(",") for each in text.split()], "write it as a list")


def _of_number(number: float) -> Iterator[Rewritten]:
    if not abs(number) <= _MOST:  # nor a number that is none
        return
    yield Rewritten(str(number), "write it in quotes")
    if isinstance(number, float) and number.is_integer():
        yield Rewritten(int(number), "write it without a point")
    if number in (0, 1):
        yield Rewritten(bool(number), "write it as a word")
