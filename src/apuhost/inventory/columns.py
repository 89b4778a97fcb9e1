"""Hosts from a CSV file: a head with `name` and keys, a row for each host."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

from apuhost.inventory import entries
from apuhost.inventory.entries import Entry, Listed, Value, place
from apuhost.inventory.syntax import InventoryError, shown
from apuhost.nearest import hint
from apuhost.settings import texts, variables
from apuhost.settings.connection import PYINFRA_KEYS

NAME, GROUPS = "name", "groups"
DELIMITERS = ",;\t"
EXAMPLE = "name,ssh_hostname,kernel_gtt_gib"

_KNOWN = frozenset((NAME, GROUPS, *variables(), *PYINFRA_KEYS))
_BOOLEANS = {"true": True, "false": False}

Row = tuple[int, list[str]]
"""The line that it begins in, and its fields."""


def read(file: Path) -> Listed:
    """The hosts of a CSV file.

    Raises:
        InventoryError: every problem of it, a line each.
    """
    rows = _rows(file)
    if not rows:
        raise InventoryError(
            f"{shown(file)}: empty: write a line {EXAMPLE}, then one for each host"
        )
    (line, head), *hosts = rows
    entries.refuse(_wrong_head(file, line, head))
    problems, found = list[str](), list[Entry]()
    for at, fields in hosts:
        wrong = [*_wrong_row(place(file, at), head, fields)]
        problems += wrong
        if not wrong:
            found.append(_entry(place(file, at), dict(zip(head, fields, strict=True))))
    entries.refuse((*problems, *_twice(found)))
    return Listed(tuple(found), tuple({group: None for each in found for group in each.groups}))


def _rows(file: Path) -> list[Row]:
    """All rows in which there is something, their fields without blanks around them."""
    text = entries.text(file)
    before, rows = 0, list[Row]()
    reader = csv.reader(
        StringIO(text, newline=""),
        delimiter=_delimiter(text),
        skipinitialspace=True,
        strict=True,
    )
    try:
        for fields in reader:
            stripped = [field.strip() for field in fields]
            if any(stripped):
                rows.append((before + 1, stripped))
            before = reader.line_num
    except csv.Error as error:
        raise InventoryError(f"{place(file, before + 1)}: no CSV: {error}") from error
    return rows


def _delimiter(text: str) -> str:
    """What the head is divided by: a spreadsheet of a country with decimal commas writes `;`."""
    head = next((line for line in text.splitlines() if line.strip()), "")
    return max(DELIMITERS, key=head.count)


def _wrong_head(file: Path, line: int, head: Sequence[str]) -> Iterator[str]:
    where = place(file, line)
    if NAME not in head:
        yield f"{where}: no column {NAME}{hint(NAME, head)}: the first line names the columns"
    for number, key in enumerate(head, 1):
        if not key:
            yield f"{where}: column {number} has no name"
        elif head.index(key) != number - 1:
            yield f"{where}: {key} is a column twice"
        elif key not in _KNOWN:
            yield f"{where}: {key} is not a setting{hint(key, _KNOWN)}"


def _wrong_row(where: str, head: Sequence[str], fields: Sequence[str]) -> Iterator[str]:
    if len(fields) != len(head):
        yield f"{where}: fields: {len(fields)}, where the head has {len(head)}"
        return
    cells = dict(zip(head, fields, strict=True))
    if not cells[NAME]:
        yield f"{where}: no name"
    for key, cell in cells.items():
        with suppress(ValueError):
            _value(key, cell)
            continue
        yield f"{where}: {key} begins as JSON, but is none: lists and texts are in JSON's quotes"


def _entry(where: str, cells: Mapping[str, str]) -> Entry:
    values = {
        key: Value(_value(key, cell), where)
        for key, cell in cells.items()
        if cell and key not in (NAME, GROUPS)
    }
    groups = re.split(r"[\s,;]+", cells.get(GROUPS, ""))
    named = tuple(dict.fromkeys(each for each in groups if each and each != "all"))
    return Entry(cells[NAME], where, named, values)


def _value(key: str, cell: str) -> Any:  # noqa: ANN401  (whatever a setting may be)
    """What a cell says: JSON, or a text; a key that takes texts only gets one in any case.

    Raises:
        ValueError: it begins as JSON's lists and objects do, but is none.
    """
    if key in texts() or key in (NAME, GROUPS):
        return cell
    if cell.lower() in _BOOLEANS:  # spreadsheets write TRUE
        return _BOOLEANS[cell.lower()]
    try:
        return json.loads(cell, parse_constant=str)
    except (ValueError, RecursionError):
        if cell[:1] in ("[", "{", '"'):
            raise ValueError(cell) from None
        return cell


def _twice(found: Sequence[Entry]) -> Iterator[str]:
    first: dict[str, str] = {}
    for each in found:
        before = first.setdefault(each.name, each.place)
        if before != each.place:
            line = before.rpartition(":")[2]
            yield f"{each.place}: {each.name} is there twice, first in line {line}"
