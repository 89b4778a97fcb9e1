"""The Python files of an inventory as they are written: what is wrong there, where a key stands."""

import ast
import codecs
from collections.abc import Iterator
from pathlib import Path

from apuhost.errors import ApuhostError
from apuhost.settings import variables
from apuhost.settings.connection import PYINFRA_KEYS

HINT = 'a host is "name" or ("name", {"key": value}), reached over ssh or as "@local"'
_KEYS = frozenset((*variables(), *PYINFRA_KEYS))


class InventoryError(ApuhostError):
    """The inventory is missing, empty, not readable or has settings that cannot be right."""


def files(inventory: Path) -> tuple[Path, ...]:
    """The inventory, and the group data beside it: pyinfra runs them all."""
    return (inventory, *sorted((inventory.resolve().parent / "group_data").glob("*.py")))


def check(inventory: Path) -> None:
    """What shows without running anything; pyinfra names no file for it, or says nothing.

    Raises:
        InventoryError: a file is no Python or no plain UTF-8; one host's data disagree, or two
            lists on a host; what stands there would be passed over.
    """
    trees = {file: _tree(file) for file in files(inventory)}
    for file, tree in trees.items():
        for line, sentence in _repeated(tree):
            raise InventoryError(f"{shown(file)}:{line}: {sentence}")
    for line, sentence in (*_disagreements(trees[inventory]), *_without_effect(trees[inventory])):
        raise InventoryError(f"{shown(inventory)}:{line}: {sentence}")


def ignored(inventory: Path, group: str) -> str:
    """In one line, where a list stands that pyinfra takes for no list of hosts, and so passes over.

    It warns only; hosts of other lists would be deployed without these.
    """
    lines = [statement.lineno for name, statement in _assigned(_tree(inventory)) if name == group]
    where = f":{lines[-1]}" if lines else ""
    return (
        f"{shown(inventory)}{where}: {group} holds something that is no host: {HINT}; "
        f"if it is no list of hosts, call it _{group}"
    )


def origin(inventory: Path, groups: tuple[str, ...], key: str) -> Path:
    """The file that gave `key` its value: the inventory itself, else the group data."""
    by_group = {file.stem: file for file in files(inventory)[1:]}
    given = [by_group[group] for group in (*reversed(groups), "all") if group in by_group]
    return next((file for file in (inventory, *given) if _names(file, key)), inventory)


def shown(file: Path) -> str:
    """A file's path, as short as it can be typed here."""
    try:
        return str(file.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(file)


def _tree(file: Path) -> ast.Module:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise InventoryError(f"{shown(file)}: {error.strerror}") from error
    if raw.startswith(codecs.BOM_UTF8):
        raise InventoryError(
            f"{shown(file)}:1: begins with a byte order mark (BOM): save it as UTF-8 without one"
        )
    try:
        return ast.parse(raw.decode())
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InventoryError(f"{shown(file)}:{line}: not UTF-8") from error
    except SyntaxError as error:
        raise InventoryError(f"{shown(file)}:{error.lineno or 1}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise InventoryError(f"{shown(file)}: not Python: {error}") from error


def _repeated(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Keys that stand twice between two braces, with another value: Python takes the last."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        seen: dict[str, ast.expr] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            first = seen.setdefault(key.value, value)
            if ast.dump(first) != ast.dump(value):
                where = f"first in line {first.lineno}, with another value"
                yield key.lineno, f"{key.value} stands twice in one {{...}}, {where}: take one out"


def _disagreements(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Hosts that two places give another value for one key: pyinfra takes the last in silence."""
    seen: dict[tuple[str, str], tuple[str, int]] = {}
    for name, key, value in _written(tree):
        text, line = ast.dump(value), value.lineno
        before, where = seen.setdefault((name, key), (text, line))
        if before != text:
            yield line, f"{name} is there twice, with another {key} in line {where}"


def _without_effect(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What pyinfra passes over in silence, or takes for other hosts, or does not explain."""
    used = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    for name, statement in _assigned(tree):
        if name in _KEYS and name not in used:
            words = f"{name} does nothing here: put it into group_data/all.py beside this file"
            yield statement.lineno, f"{words}, or into a host's own data"
        elif name in ("hosts", "all") and isinstance(statement.value, ast.Dict | ast.Set):
            yield statement.lineno, f"{name} is no list: {HINT}"
        elif not name.startswith("_") and _is_one_host(statement.value):
            # Each letter of the name would be a host.
            yield statement.lineno, f"{name} is no list: put [ ] around it, or call it _{name}"
    for item in _items(tree):
        match item:
            case ast.Tuple(elts=[ast.Constant(value=str(name)), _, _, *_]):
                yield item.lineno, f"{name} has more than its data: {HINT}"
            case ast.Tuple(elts=[ast.Constant(value=str(name)), data]) if _is_plain(data):
                yield data.lineno, f"{name} has data that are no names with values: {HINT}"


def _is_one_host(value: ast.expr | None) -> bool:
    match value:
        case ast.Tuple(elts=[ast.Constant(value=str()), *_]):
            return True
    return False


def _is_plain(data: ast.expr) -> bool:
    """Whether it is written out, and is no dict."""
    return isinstance(data, ast.Constant | ast.List | ast.Tuple | ast.Set | ast.ListComp)


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.Assign | ast.AnnAssign]]:
    """Every name that the file gives a value, and where."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, statement


def _written(tree: ast.Module) -> Iterator[tuple[str, str, ast.expr]]:
    """Host, key and value of every `("host", {"key": value})` in a list of the file."""
    for item in _items(tree):
        match item:
            case ast.Tuple(
                elts=[ast.Constant(value=str(name)), ast.Dict(keys=keys, values=values)]
            ):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield name, key.value, value


def _items(tree: ast.Module) -> Iterator[ast.expr]:
    """Every entry of a list of hosts, also of one with data of its own beside it."""
    for name, statement in _assigned(tree):
        if name.startswith("_"):  # the file's own affair: pyinfra passes over it
            continue
        for element in (statement.value, *getattr(statement.value, "elts", ())):
            if isinstance(element, ast.List):
                yield from element.elts


def _names(file: Path, key: str) -> bool:
    """Whether a Python file mentions the key as a name, a string or a keyword."""
    try:
        tree = _tree(file)
    except InventoryError:
        return False
    return any(
        key in (getattr(node, "value", None), getattr(node, "id", None), getattr(node, "arg", None))
        for node in ast.walk(tree)
    )
