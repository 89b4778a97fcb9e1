"""Files that a command writes: whole or not at all, since others read them at any time."""

import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

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
        OutputError: two options name one file, or a file's folder is not there.
    """
    options: dict[str, str] = {}
    for option, file in files.items():
        first = options.setdefault(file if file == STDOUT else os.path.realpath(file), option)
        if first != option:
            raise OutputError(f"--{first} and --{option} both write {file}: give each its own file")
    for option, file in files.items():
        path = Path(file)
        if file != STDOUT and (path.is_dir() or not Path(os.path.realpath(file)).parent.is_dir()):
            why = "is a folder" if path.is_dir() else f"no such folder: {path.parent}"
            raise OutputError(f"--{option} {file}: {why}")


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
    path = Path(os.path.realpath(file))  # a link stays one
    if path.exists() and not path.is_file():
        path.write_bytes(raw)  # a pipe or a device is no place for another file
    else:
        _replace(path, raw)


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
