"""What stands twice in a file of an inventory: Python or pyinfra keeps one of it in silence."""

import ast
from collections.abc import Iterator

from apuhost.inventory import written


def values(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names and keys with two values, of which the first is lost."""
    yield from _keys(tree)
    yield from _names(tree)


def hosts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Hosts that two places tell differently, that stand twice in a list, or that `all` lacks."""
    yield from _disagreements(tree)
    yield from _in_one_list(tree)
    yield from _outside_all(tree)


def _keys(tree: ast.Module) -> Iterator[tuple[int, str]]:
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


def _names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names that are given another value before anything has read the first."""
    later = _read_later(tree)
    for block in _blocks(tree):
        seen: dict[str, tuple[int, str]] = {}
        for statement in block:
            for name in _read(statement):
                seen.pop(name, None)
            for name, value in _given(statement):
                line, first = seen.get(name, (0, value))
                if first != value and name not in later:
                    where = f"first in line {line}, with another value"
                    yield statement.lineno, f"{name} stands twice, {where}: make one of the two"
                seen[name] = statement.lineno, value


def _blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """Statements that run one after the other: those of one branch only."""
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def _given(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Every name that a statement gives a value, with the value's text."""
    match statement:
        case ast.ImportFrom(module=module, names=aliases):
            yield from ((alias.asname or alias.name, f"{module}.{alias.name}") for alias in aliases)
        case ast.Assign(value=ast.expr() as value) | ast.AnnAssign(value=ast.expr() as value):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id, ast.dump(value)


def _read(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            yield part.target.id


def _read_later(tree: ast.Module) -> set[str]:
    """Names that a function reads, whenever it is called; and what is for nobody."""
    functions = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    )
    return {"_", *(name for function in functions for name in _read(function))}


def _disagreements(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Hosts that two places give another value for one key: pyinfra takes the last in silence."""
    seen: dict[tuple[str, str], tuple[str, int]] = {}
    for name, key, value in written.data(tree):
        text, line = ast.dump(value), value.lineno
        before, where = seen.setdefault((name, key), (text, line))
        if before != text:
            yield line, f"{name} is there twice, with another {key} in line {where}"


def _in_one_list(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for group, listed in written.lists(tree):
        seen: dict[str, ast.expr] = {}
        for item in listed.elts:
            name = written.host(item)
            if name is not None and seen.setdefault(name, item) is not item:
                where = f"first in line {seen[name].lineno}"
                yield item.lineno, f"{name} is twice in {group}, {where}: take one out"


def _outside_all(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Of a file with a list `all`, pyinfra takes the hosts of that list only."""
    entries = [
        item for name, listed in written.lists(tree) if name == "all" for item in listed.elts
    ]
    names = {written.host(item) for item in entries}
    if not entries or None in names:
        return
    for group, listed in written.lists(tree):
        for item in listed.elts:
            name = written.host(item)
            if name is not None and name not in names:
                words = f"{name} is in {group}, but not in all, so pyinfra leaves it out"
                yield item.lineno, f"{words}: name it there, or give that list another name"
