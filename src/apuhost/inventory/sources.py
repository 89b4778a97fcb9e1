"""What shows in an inventory's files without running them, and the file that a key came from."""

import ast
from pathlib import Path

from apuhost.inventory import lists, twice, written
from apuhost.inventory.syntax import InventoryError, files, is_python, shown, tree


def check(inventory: Path) -> None:
    """What shows without running anything; pyinfra names no file for it, or says nothing.

    Raises:
        InventoryError: a file is no Python or no plain UTF-8; a name, key or host stands twice;
            what stands there would be passed over, or be taken for a host.
    """
    trees = {file: tree(file) for file in files(inventory)}
    for file, found in trees.items():
        for line, sentence in (*twice.values(found), *lists.values(found)):
            raise InventoryError(f"{shown(file)}:{line}: {sentence}")
    if not is_python(inventory):
        return
    for line, sentence in (*twice.hosts(trees[inventory]), *lists.hosts(trees[inventory])):
        raise InventoryError(f"{shown(inventory)}:{line}: {sentence}")


def ignored(inventory: Path, group: str) -> str:
    """In one line, where a list stands that pyinfra takes for no list of hosts, and so passes over.

    It warns only; hosts of other lists would be deployed without these.
    """
    lines = [item.lineno for name, item in written.assigned(tree(inventory)) if name == group]
    where = f":{lines[-1]}" if lines else ""
    return f"{shown(inventory)}{where}: {lists.mixed(group)}"


def origin(inventory: Path, name: str, groups: tuple[str, ...], key: str) -> Path:
    """The file that gave a host's `key` its value: the inventory itself, else the group data."""
    by_group = {file.stem: file for file in files(inventory) if file != inventory}
    given = [by_group[group] for group in (*reversed(groups), "all") if group in by_group]
    own = [inventory] if is_python(inventory) and _gives(inventory, name, key) else []
    return next((file for file in (*own, *given) if _names(file, key)), inventory)


def _gives(inventory: Path, name: str, key: str) -> bool:
    """Whether the inventory could give this host the key: it may do so for another only."""
    try:
        found = tree(inventory)
    except InventoryError:
        return False
    told = any((host, each) == (name, key) for host, each, _ in written.data(found))
    return told or not written.is_plain(found, name)


def _names(file: Path, key: str) -> bool:
    """Whether a Python file mentions the key as a name, a string or a keyword."""
    try:
        found = tree(file)
    except InventoryError:
        return False
    return any(
        key in (getattr(node, "value", None), getattr(node, "id", None), getattr(node, "arg", None))
        for node in ast.walk(found)
    )
