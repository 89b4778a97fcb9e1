"""Hosts as a file that is no Python tells them: each value with the line that it stands in."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apuhost.inventory.syntax import InventoryError, shown

_LONGEST_BITS = 2000
"""Python may refuse to write 640 digits (sys.set_int_max_str_digits)."""


@dataclass(frozen=True)
class Value:
    """What a key was given, and where: `hosts.csv:3`."""

    value: Any
    place: str


@dataclass(frozen=True)
class Unread:
    """In a value's place, why it cannot be read; that matters where somebody asks for it."""

    why: str


@dataclass(frozen=True)
class Entry:
    """One host: its name, where that stands, its groups without `all`, its own values."""

    name: str
    place: str
    groups: tuple[str, ...]
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Listed:
    """What a file tells: its hosts, and every group that it names but `all`, also an empty one."""

    hosts: tuple[Entry, ...]
    groups: tuple[str, ...]


def place(file: Path, line: int) -> str:
    """A line of a file, as it is told."""
    return f"{shown(file)}:{line}"


def no_json(value: object) -> str:
    """What a value has that JSON has not, and what to write; "" where there is nothing such.

    A tuple is a list to Ansible, too.
    """
    match value:
        case str() | bool() | float() | None:
            return ""
        case int():
            return "is too long a number" if value.bit_length() > _LONGEST_BITS else ""
        case list() | tuple():
            return next(filter(None, map(no_json, value)), "")
        case dict():
            names = [key for key in value if not isinstance(key, str)]
            told = f"has {names[0]} for a name: put it in quotes" if names else ""
            return told or no_json([*value.values()])
    kind = type(value).__name__
    return f"has a value of type {kind}: write a list, a text, a number, true or false"


def text(file: Path) -> str:
    """What a file holds, without a byte order mark, which spreadsheets write.

    Raises:
        InventoryError: it cannot be read, or is no UTF-8.
    """
    try:
        raw = file.read_bytes()
        found = raw.decode("utf-8-sig")
    except OSError as error:
        raise InventoryError(f"{shown(file)}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InventoryError(f"{place(file, line)}: not UTF-8: save it as that") from error
    if "\0" in found:
        raise InventoryError(f"{shown(file)}: not a text file (it has NUL bytes)")
    return found


def refuse(problems: Iterable[str]) -> None:
    """Nothing, where there is no problem.

    Raises:
        InventoryError: all of them, a line each.
    """
    lines = list(dict.fromkeys(problems))
    if lines:
        count = f"{len(lines)} problem{'s' if len(lines) > 1 else ''}, nothing contacted"
        raise InventoryError("\n".join([*lines, count]))
