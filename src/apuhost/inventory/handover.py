"""How pyinfra is given an inventory: a Python file as it is, hosts of any other as JSON."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from apuhost.inventory import ansible, columns, documents, entries
from apuhost.inventory.entries import Listed
from apuhost.inventory.syntax import InventoryError, is_python, shown

READERS: Mapping[str, Callable[[Path], Listed]] = {
    ".csv": columns.read,
    **dict.fromkeys((*ansible.YAML, *ansible.INI), ansible.read),
}
"""Who reads a file that is no Python, by its suffix."""

SHIM = "deploy/hosts.py"
"""What pyinfra runs in its place; it reads the JSON from standard input."""


@dataclass(frozen=True)
class Given:
    """pyinfra's arguments, what it reads from standard input, and where each host's keys stand."""

    arguments: tuple[str, ...]
    stdin: str = ""
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def given(inventory: Path) -> Given:
    """The inventory as pyinfra takes it.

    Raises:
        InventoryError: what is no Python cannot be read.
    """
    if is_python(inventory):
        return Given((str(inventory.resolve()),))
    listed = _listed(inventory)
    if not listed.hosts:
        raise InventoryError(f"{shown(inventory)}: no host in it")
    group_data = str(inventory.resolve().parent / "group_data")
    places = {
        each.name: {each.name: each.place} | {key: v.place for key, v in each.values.items()}
        for each in listed.hosts
    }
    return Given(("--group-data", group_data, SHIM), _as_json(inventory.stem, listed), places)


def groups(inventory: Path) -> frozenset[str]:
    """The groups that a file names, whatever it is written in; none where it cannot be read."""
    try:
        return frozenset(_listed(inventory).groups)
    except InventoryError:
        return frozenset()


def by_name(inventory: Path) -> str:
    """The group that a file makes by its name alone, "" where it names that itself or is Python."""
    own = is_python(inventory) or inventory.stem in groups(inventory)
    return "" if own else inventory.stem


def _listed(inventory: Path) -> Listed:
    if not inventory.suffix and entries.text(inventory).startswith("#!"):
        raise InventoryError(f"{shown(inventory)}: a program, no list of hosts: {documents.WRITE}")
    return READERS[inventory.suffix.lower()](inventory)


def _as_json(stem: str, listed: Listed) -> str:
    """Each group as pyinfra has it, a list of hosts; all of them with their own values.

    Of a Python file pyinfra makes a group by its name where it has none, and lets it win; so here.
    """
    named: dict[str, list[object]] = {
        "all": [
            (each.name, {key: given.value for key, given in each.values.items()})
            for each in listed.hosts
        ],
        **{group: [] for group in listed.groups},
    }
    for each in listed.hosts:
        for group in each.groups:
            named[group].append(each.name)
    named.setdefault(stem, [each.name for each in listed.hosts])
    return json.dumps(named)
