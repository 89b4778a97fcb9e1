"""A lock as somebody points to it: its file, or the folder of its bundle."""

from pathlib import Path

from apuhost.bundle import manifest
from apuhost.lockfile import Lock, LockError, parse

_MOST_BYTES = 64 * 1024 * 1024


def read(path: Path) -> Lock:
    """The lock in a file, or in a bundle's folder.

    Raises:
        LockError: it cannot be read, or is none.
    """
    file = path / manifest.LOCK if path.is_dir() else path
    try:
        with file.open("rb") as stream:
            return parse(stream.read(_MOST_BYTES).decode())
    except OSError as error:
        raise LockError(f"{file}: {error.strerror}") from error
    except (UnicodeDecodeError, LockError) as error:
        raise LockError(f"{file}: {error}") from error
