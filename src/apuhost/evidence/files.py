"""Files of a folder that may come from anywhere: read only where they are what they seem to be."""

import os
import stat
from pathlib import Path

from apuhost.errors import ApuhostError

MOST_BYTES = 64 * 1024 * 1024

_KINDS = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder"}


class EvidenceError(ApuhostError):
    """A facts folder is missing, cut or not apuhost's."""


class ClosedError(EvidenceError):
    """A file is there, or may be, and cannot be read."""


def fault(path: Path) -> str:
    """Why this is no plain file as a host's facts are; "" if it is one."""
    try:
        return _unlike(path.lstat())
    except OSError as error:
        return _closed(error)


def _unlike(found: os.stat_result) -> str:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "a pipe, a socket or a device")
        return f"is {kind}, no plain file"
    return f"has more than {MOST_BYTES >> 20} MiB" if found.st_size > MOST_BYTES else ""


def content(path: Path) -> bytes:
    """What is in a plain file; nothing else is opened.

    Raises:
        ClosedError: it cannot be read.
        EvidenceError: it is none, or has more than a host sends.
    """
    try:
        if said := _unlike(path.lstat()):
            raise EvidenceError(said)
        return path.read_bytes()
    except OSError as error:
        raise ClosedError(_closed(error)) from error


def _closed(error: OSError) -> str:
    return f"cannot be read: {error.strerror}"


def text(path: Path) -> str:
    """The same, as text in which every byte is kept.

    Raises:
        ClosedError, EvidenceError: as for content.
    """
    return content(path).decode("utf-8", "surrogateescape")
