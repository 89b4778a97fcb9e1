"""What each Python file of the repository imports, read from its syntax tree."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from apuhost.roles import CHECKOUT

CORE = CHECKOUT / "src" / "apuhost"


def files(folder: Path) -> list[Path]:
    """Every Python file under a folder, in a fixed order."""
    return sorted(folder.rglob("*.py"))


def module(file: Path) -> str:
    """The dotted name under which a file of the core or of the checkout is imported."""
    root = CHECKOUT / "src" if file.is_relative_to(CORE) else CHECKOUT
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imported(file: Path) -> frozenset[str]:
    """Dotted names of the modules that a file imports, anywhere in it."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(name for node in ast.walk(tree) for name in _names(node))


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module:
        # `from apuhost.probes import grub` names a module, `… import ParseError` does not.
        submodules = [f"{node.module}.{alias.name}" for alias in node.names]
        modules = [name for name in submodules if _is_module(name)]
        yield from modules
        if len(modules) < len(submodules):
            yield node.module


def _is_module(name: str) -> bool:
    path = CHECKOUT.joinpath("src", *name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()
