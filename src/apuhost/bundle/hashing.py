"""Every file of a bundle hashed, several at once: hashing lets other threads run."""

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path
from threading import Event

from apuhost.bundle import plain, tree
from apuhost.bundle.manifest import Entry, Manifest
from apuhost.bundle.plain import NotPlainError
from apuhost.bundle.refusal import Fault

MOST_AT_ONCE = 4
"""A few readers keep a disk busy; many make one that turns seek."""

Told = Callable[[int], None]
"""Is told of bytes as they were hashed, from several threads."""


class _Counted:
    """A file that tells what was read of it, and gives no more once it is to stop."""

    def __init__(self, stream: FileIO, told: Told, stop: Event) -> None:
        self._stream, self._told, self._stop = stream, told, stop

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:
        if self._stop.is_set():
            return 0
        count = self._stream.readinto(buffer) or 0
        self._told(count)
        return count


def faults(folder: Path, manifest: Manifest, told: Told) -> tuple[Fault, ...]:
    """All that is missing, extra or other than the manifest says, by path."""
    stop = Event()

    def fault(entry: Entry) -> Fault | None:
        said = _said(folder / entry.path, entry, told, stop)
        return Fault(entry.path, said) if said else None

    # The largest first: else one thread is left alone with it at the end.
    largest_first = sorted(manifest.files, key=lambda entry: -entry.size)
    with ThreadPoolExecutor(min(MOST_AT_ONCE, os.cpu_count() or 1)) as pool:
        try:
            changed = [each for each in pool.map(fault, largest_first) if each]
        finally:
            stop.set()  # after Ctrl-C nobody waits for a large file
    return tuple(sorted([*tree.faults(folder, manifest), *changed], key=str))


def _said(path: Path, entry: Entry, told: Told, stop: Event) -> str:
    """What is wrong with a file; "" if nothing is."""
    try:
        with plain.opened(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size != entry.size:
                return f"has {size} bytes, not {entry.size}"
            found = hashlib.file_digest(_Counted(stream, told, stop), "sha256").hexdigest()
    except NotPlainError as error:
        return str(error)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return "" if found == entry.sha256 else "changed: other bytes than the manifest's"
