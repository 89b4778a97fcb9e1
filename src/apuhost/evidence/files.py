"""Files of a folder that may come from anywhere: read only where they are what they seem to be."""

import stat
from pathlib import Path

from apuhost.errors import ApuhostError

MOST_BYTES = 64 * 1024 * 1024

_KINDS = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder"}


class EvidenceError(ApuhostError):
    """A facts folder is missing, cut or not apuhost's."""


def fault(path: Path) -> str:
    """Why this is no plain file as a host's facts are; "" if it is one."""
    try:
        found = path.lstat()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "a pipe or a device")
        return f"is {kind}, no plain file"
    return f"has more than {MOST_BYTES >> 20} MiB" if found.st_size > MOST_BYTES else ""


def content(path: Path) -> bytes:
    """What is in a plain file; nothing else is opened.

    Raises:
        EvidenceError: it is none, cannot be read, or has more than a host sends.
    """
    if said := fault(path):
        raise EvidenceError(said)
    try:
        return path.read_bytes()
    except OSError as error:
        raise EvidenceError(f"cannot be read: {error.strerror}") from error


def text(path: Path) -> str:
    """The same, as text in which every byte is kept.

    Raises:
        EvidenceError: as for content.
    """
    return content(path).decode("utf-8", "surrogateescape")
