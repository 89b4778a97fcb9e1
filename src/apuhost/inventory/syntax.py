"""The Python files of an inventory, each as a tree: what is no Python is told with its line."""

import ast
import codecs
import stat
import tokenize
import warnings
from collections.abc import Iterator
from functools import cache
from io import StringIO
from pathlib import Path

from apuhost.errors import ApuhostError

OTHERS = (".csv", ".yml", ".yaml", ".json", ".ini", "")
"""Suffixes of files of hosts that are no Python: CSV, and Ansible's; its `hosts` has none."""

_PASSED_OVER = (tokenize.NL, tokenize.COMMENT)
_SHOWN_LENGTH = 40


class InventoryError(ApuhostError):
    """The inventory is missing, empty, not readable or has settings that cannot be right."""


def is_python(inventory: Path) -> bool:
    """Whether pyinfra runs the file itself; what has another suffix is read by apuhost."""
    return inventory.suffix.lower() not in OTHERS


def files(inventory: Path) -> tuple[Path, ...]:
    """The inventory, where it is Python, and the group data beside it: pyinfra runs them all.

    Raises:
        InventoryError: the folder of the group data cannot be looked into.
    """
    folder = inventory.resolve().parent / "group_data"
    try:
        beside = sorted(each for each in folder.iterdir() if each.suffix == ".py")
    except (FileNotFoundError, NotADirectoryError):
        beside = []
    except OSError as error:
        raise InventoryError(f"{shown(folder)}: {error.strerror}") from error
    return (inventory, *beside) if is_python(inventory) else tuple(beside)


def shown(file: Path) -> str:
    """A file's path, as short as it can be typed here."""
    try:
        return str(file.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(file)


def tree(file: Path) -> ast.Module:
    """What the file says.

    Raises:
        InventoryError: it cannot be read, is no plain UTF-8 or no Python, or lacks a comma.
    """
    raw = _raw(file)
    try:
        found, joined = _parsed(raw.decode())
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InventoryError(f"{shown(file)}:{line}: not UTF-8") from error
    except SyntaxError as error:
        raise InventoryError(f"{shown(file)}:{error.lineno or 1}: {_told(error)}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise InventoryError(f"{shown(file)}: not Python: {error}") from error
    if joined:
        raise InventoryError(f"{shown(file)}:{joined}")
    return found


@cache
def _parsed(text: str) -> tuple[ast.Module, str]:
    """The tree of a file, and where it makes one text of two; asked again for every problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # ("a", {...}) ("b", {...}) is a call; the compiler guesses right, and run it only fails.
        warnings.filterwarnings("error", ".*missed a comma", SyntaxWarning)
        compile(text, "", "exec")
        found = ast.parse(text)
    return found, next(_joined(text), "")


def _raw(file: Path) -> bytes:
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # a FIFO would be waited for
            raise InventoryError(f"{shown(file)}: no plain file: pyinfra would run it")
        raw = file.read_bytes()
    except OSError as error:
        raise InventoryError(f"{shown(file)}: {error.strerror}") from error
    if raw.startswith(codecs.BOM_UTF8):
        raise InventoryError(
            f"{shown(file)}:1: begins with a byte order mark (BOM): save it as UTF-8 without one"
        )
    return raw


def _joined(text: str) -> Iterator[str]:
    """Texts of a list with nothing between them. In ( ) or as a dict's value they may be meant."""
    brackets: list[str] = []
    before = None
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type in _PASSED_OVER:
            continue
        if token.type == before == tokenize.STRING and brackets[-1:] == ["["]:
            string = token.string[:_SHOWN_LENGTH]
            yield f"{token.start[0]}: no comma before {string}: Python makes one text of the two"
        if token.string in ("(", "[", "{"):
            brackets.append(token.string)
        elif token.string in (")", "]", "}"):
            brackets.pop()
        before = token.type


def _told(error: SyntaxError) -> str:
    """Python's own words; where they are two only, also what stands there."""
    if error.msg != "invalid syntax" or not error.text or not error.offset:
        return error.msg
    rest = error.text[error.offset - 1 :].strip()[:_SHOWN_LENGTH]
    return f"{error.msg} at {rest}: is a comma missing before it?" if rest else error.msg
