"""Group data that no host would get: pyinfra passes over it without a word."""

import ast
from collections.abc import Iterator, Set
from pathlib import Path

from apuhost.inventory import handover, syntax
from apuhost.inventory.syntax import InventoryError, shown
from apuhost.nearest import hint

_DATA = (".yml", ".yaml", ".json", ".toml", ".ini")
_UNREAD = ("", ".py", *_DATA)
"""What a group's values are written in by other tools; "" is also a folder of them."""


def check(inventory: Path, groups: Set[str]) -> None:
    """Refuse group data of no group, and of a kind that pyinfra does not read.

    An error, no warning: the hosts would silently get other values. Where it is meant, it can be
    said: several inventories share one folder, so a group of a neighbour counts, and one without
    hosts, `site_b = []`; a name with _ before it, and what a Python file names, is read by hand.

    Raises:
        InventoryError: the file, with the nearest name or what to write instead.
    """
    folder = inventory.resolve().parent / "group_data"
    if not folder.is_dir():
        return
    known = {"all", *groups, *_beside(inventory)}
    entries = [each for each in sorted(folder.iterdir()) if not each.name.startswith(("_", "."))]
    if any(each.suffix == ".py" and each.stem not in known for each in entries):
        known.update(_in_others(inventory))
    for sentence in (*_of_no_group(entries, known), *_not_read(inventory, entries, known)):
        raise InventoryError(sentence)


def _of_no_group(entries: list[Path], known: Set[str]) -> Iterator[str]:
    for entry in entries:
        name = entry.stem
        if entry.suffix == ".py" and name not in known:
            yield (
                f"{shown(entry)}: no group is called {name}{hint(name, known)}: rename the file, "
                f"or write {name} = [] in an inventory beside it if its hosts are still to come"
            )


def _not_read(inventory: Path, entries: list[Path], known: Set[str]) -> Iterator[str]:
    texts = "\n".join(_texts(inventory))
    for entry in entries:
        suffix = entry.suffix.lower()
        foreign = entry.suffix != ".py" and suffix in _UNREAD
        if foreign and (suffix in _DATA or entry.stem in known) and entry.name not in texts:
            yield (
                f"{shown(entry)} is not read: write {entry.stem}.py, a line NAME = VALUE for each "
                "(what a .py file of group_data names may stay beside it)"
            )


def _beside(inventory: Path) -> Iterator[str]:
    """The groups of every inventory in the folder, whatever it computes them from."""
    for file in inventory.resolve().parent.glob("*.py"):
        yield file.stem
        try:
            tree = syntax.tree(file)
        except InventoryError:  # a neighbour's fault is told where it is asked for
            continue
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Store()):
                    yield name
                case ast.alias(name=name, asname=renamed):
                    yield renamed or name


def _in_others(inventory: Path) -> Iterator[str]:
    """The groups of the inventories in the folder that are no Python, this one among them."""
    for file in inventory.resolve().parent.iterdir():
        if file.is_file() and not syntax.is_python(file):
            yield file.stem
            yield from handover.groups(file)


def _texts(inventory: Path) -> Iterator[str]:
    for file in syntax.files(inventory):
        for node in ast.walk(syntax.tree(file)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
