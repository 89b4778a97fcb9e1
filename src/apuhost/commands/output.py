"""Files that a command writes: whole or not at all, since others read them at any time."""

import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from apuhost import places
from apuhost.errors import ApuhostError

STDOUT = "-"
READABLE = 0o644
"""Of a new file: who collects metrics is another user."""


class OutputError(ApuhostError):
    """A file that was asked for cannot be written."""


def check(files: Mapping[str, str]) -> None:
    """Find out before the work what would only show after it.

    Args:
        files: each file by the option that names it.

    Raises:
        OutputError: two options name one file, or a file's folder is not there, or takes none.
    """
    options: dict[str, str] = {}
    for option, file in files.items():
        first = options.setdefault(file if file == STDOUT else os.path.realpath(file), option)
        if first != option:
            raise OutputError(f"--{first} and --{option} both write {file}: give each its own file")
    for option, file in files.items():
        if why := _fault(file):
            raise OutputError(f"--{option} {file}: {why}")


def _fault(file: str) -> str:
    """Why this file cannot be written; "" if it can, as far as shows without writing it."""
    if file == STDOUT:
        return "standard output is closed" if sys.stdout is None else ""
    path = Path(os.path.realpath(file))
    try:
        if path.is_dir():
            return "is a folder"
        if not _is_device(file):
            places.try_to_write(path.parent)
    except (FileNotFoundError, NotADirectoryError):
        return f"no such folder: {Path(file).parent}"
    except OSError as error:
        return f"nothing can be written in {path.parent}: {error.strerror}"
    return ""


def write(texts: Mapping[str, str]) -> list[str]:
    """Write each file. Returns a sentence for each one that could not be; the others are there."""
    problems = []
    for file, text in texts.items():
        try:
            _write(file, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            problems.append(f"{file}: not written: {error.strerror}")
    return problems


def _write(file: str, raw: bytes) -> None:
    if file == STDOUT:
        sys.stdout.write(raw.decode())
        return
    if _is_device(file):
        with suppress(BrokenPipeError):  # a reader that has seen enough is no fault
            Path(file).write_bytes(raw)
    else:
        _replace(Path(os.path.realpath(file)), raw)  # a link stays one


def _is_device(file: str) -> bool:
    """A pipe or a device is no place for another file; a shell's >(...) is one, too."""
    return Path(file).exists() and not Path(file).is_file()


def _replace(path: Path, raw: bytes) -> None:
    """A new file beside the old one, then in its place, with the old one's mode."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else READABLE
    # Not *.prom: the collector would read half of it.
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as new:
        try:
            new.write(raw)
            new.flush()
            os.fchmod(new.fileno(), mode)
            os.fsync(new.fileno())
            Path(new.name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(new.name).unlink()
            raise
