"""Bytes copied and hashed in one pass."""

import hashlib
from collections.abc import Callable
from io import FileIO
from typing import IO

BUFFER = 1024 * 1024


class CutError(Exception):
    """Why a file gave fewer bytes than it should."""


def copy(source: FileIO, sink: IO[bytes], size: int, told: Callable[[int], None]) -> str:
    """Copy `size` bytes from where the files are; their hash, in hex.

    Raises:
        CutError: the source ends before, or cannot be read; its text is why.
        OSError: the sink cannot be written.
    """
    digest, buffer, rest = hashlib.sha256(), memoryview(bytearray(min(BUFFER, size))), size
    while rest:
        count = _read(source, buffer[:rest])
        digest.update(buffer[:count])
        sink.write(buffer[:count])
        told(count)
        rest -= count
    return digest.hexdigest()


def _read(source: FileIO, buffer: memoryview) -> int:
    try:
        count = source.readinto(buffer)
    except OSError as error:
        raise CutError(f"cannot be read: {error.strerror}") from error
    if not count:
        raise CutError("ends before it should")
    return count
