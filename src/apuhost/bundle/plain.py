"""Plain files of a folder that may come from anywhere: nothing else is ever opened.

A link could lead out of the folder, a FIFO would wait for ever, and opening some devices acts.
"""

import os
import stat
from io import BufferedReader, FileIO
from pathlib import Path

from apuhost.bundle.item import BundleError

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO"}


class NotPlainError(BundleError):
    """Why a file cannot be read, without its name."""


def opened(path: Path) -> FileIO:
    """The file, unbuffered, for its bytes.

    Raises:
        NotPlainError: it is not there, no plain file, or not readable.
    """
    try:
        _check(path.lstat().st_mode)
        stream = FileIO(os.open(path, _FLAGS), "rb")
    except FileNotFoundError as error:
        raise NotPlainError("missing") from error
    except OSError as error:
        raise NotPlainError(f"cannot be read: {error.strerror}") from error
    try:
        _check(os.fstat(stream.fileno()).st_mode)  # what was looked at may be another one by now
    except NotPlainError:
        stream.close()
        raise
    return stream


def content(path: Path, most: int) -> bytes:
    """All bytes of a small file.

    Raises:
        NotPlainError: as for opened; or it has more than `most` bytes.
    """
    with opened(path) as stream:
        try:
            found = BufferedReader(stream).read(most + 1)
        except OSError as error:
            raise NotPlainError(f"cannot be read: {error.strerror}") from error
    if len(found) > most:
        raise NotPlainError(f"has more than {most} bytes")
    return found


def _check(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "a device or a socket")
        raise NotPlainError(f"is {kind}, no plain file")
