"""What a file of an inventory says as it is written: its names, lists, hosts, and their keys."""

import ast
from collections.abc import Iterator


def assigned(tree: ast.Module) -> Iterator[tuple[str, ast.Assign | ast.AnnAssign]]:
    """Every name that the file gives a value, and where."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, statement


def lists(tree: ast.Module) -> Iterator[tuple[str, ast.List]]:
    """Every list that pyinfra takes for hosts, by its name; it may have data of its own beside."""
    for name, statement in assigned(tree):
        if name.startswith("_"):  # the file's own affair: pyinfra passes over it
            continue
        for element in (statement.value, *getattr(statement.value, "elts", ())):
            if isinstance(element, ast.List):
                yield name, element


def items(tree: ast.Module) -> Iterator[ast.expr]:
    """Every entry of such a list."""
    for _, listed in lists(tree):
        yield from listed.elts


def host(item: ast.expr) -> str | None:
    """The name of the host that an entry of a list is, if it is written out."""
    match item:
        case ast.Constant(value=str(name)) | ast.Tuple(elts=[ast.Constant(value=str(name)), *_]):
            return name
    return None


def data(tree: ast.Module) -> Iterator[tuple[str, str, ast.expr]]:
    """Host, key and value of every `("host", {"key": value})` in a list of the file."""
    for item in items(tree):
        name = host(item)
        if name is not None:
            yield from ((name, key, value) for key, value in _pairs(item) if isinstance(key, str))


def is_plain(tree: ast.Module, name: str) -> bool:
    """Whether a host is there, and all that the file says of it is written out."""
    entries = [item for item in items(tree) if host(item) == name]
    return bool(entries) and all(key is not None for item in entries for key, _ in _pairs(item))


def _pairs(item: ast.expr) -> list[tuple[object, ast.expr]]:
    """Keys and values of a host's data; None for a key that is computed."""
    match item:
        case ast.Constant():
            return []
        case ast.Tuple(elts=[_, ast.Dict(keys=keys, values=values)]):
            return [
                (key.value if isinstance(key, ast.Constant) else None, value)
                for key, value in zip(keys, values, strict=True)
            ]
        case ast.Tuple(elts=[_, ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords)]):
            return [(keyword.arg, keyword.value) for keyword in keywords]
    return [(None, item)]
