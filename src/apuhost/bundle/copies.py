"""A bundle's files where its folder is on another disk than the cache: copies, each of them hashed.

A build signs what it lays, so a copy is hashed as it is made, and again in every build, unless it
is the very file that was hashed before and nobody wrote to it since. Its ctime tells that, which
nobody can set (inode(7)); where times are as coarse as FAT's, its mtime does, too: it is long past.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from apuhost.bundle import copying, plain
from apuhost.bundle.copying import CutError
from apuhost.bundle.item import BundleError
from apuhost.bundle.plain import NotPlainError

NEW = ".apuhost-new"
"""What a file's name ends with until it is whole."""

_FOLDER = "copies"
_PAST = 946_684_800
"""The year 2000: later than what marks a cached file as hashed, which a copy must not pass for."""


class Copies:
    """The copies in one folder, and which of them were hashed before."""

    def __init__(self, hashed: frozenset[str]) -> None:
        self._before = hashed
        self._now = set[str]()

    @property
    def hashed(self) -> frozenset[str]:
        """What marks the copies that were found right or made."""
        return frozenset(self._now)

    def has(self, copy: Path, digest: str) -> bool:
        """Whether the copy is there and right."""
        try:
            with plain.opened(copy) as stream:
                mark = _mark(os.fstat(stream.fileno()), digest)
                right = mark in self._before or (
                    hashlib.file_digest(stream, "sha256").hexdigest() == digest
                )
        except (NotPlainError, OSError):  # what a disk does not give back is made anew
            return False
        self._now.update([mark] if right else [])
        return right

    def make(self, source: Path, copy: Path, digest: str) -> None:
        """Copy a cached file, whole or not at all.

        Raises:
            BundleError: the cached file is not what its name says; it is removed.
            OSError: the copy cannot be written.
        """
        new = copy.with_name(f"{copy.name}{NEW}")
        new.unlink(missing_ok=True)
        if said := _copied(source, new, digest):
            new.unlink(missing_ok=True)
            source.unlink(missing_ok=True)
            raise BundleError(f"{source}: {said}: it is removed, so run this again")
        shutil.copymode(source, new)
        os.utime(new, (_PAST, _PAST))
        new.replace(copy)
        self._now.add(_mark(copy.stat(), digest))


@contextmanager
def of(folder: Path, cache: Path) -> Iterator[Copies]:
    """The folder's copies; which of them were hashed is kept in the cache, also after an error."""
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()
    record = cache / _FOLDER / name
    found = Copies(_read(record))
    try:
        yield found
    finally:
        if found.hashed:
            _write(record, found.hashed)


def _mark(state: os.stat_result, digest: str) -> str:
    where = f"{state.st_dev} {state.st_ino}"
    return f"{digest} {where} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"


def _copied(source: Path, new: Path, digest: str) -> str:
    """What is wrong with the source, "" if nothing."""
    with FileIO(source) as given, new.open("xb") as taken:
        try:
            found = copying.copy(given, taken, os.fstat(given.fileno()).st_size, lambda _: None)
        except CutError as error:
            return str(error)
        taken.flush()
        os.fsync(taken.fileno())
    return "" if found == digest else "changed: other bytes than its name says"


def _read(record: Path) -> frozenset[str]:
    try:
        return frozenset(record.read_text(encoding="ascii", errors="replace").splitlines())
    except OSError:
        return frozenset()  # everything is hashed again


def _write(record: Path, hashed: frozenset[str]) -> None:
    new = record.with_name(f"{record.name}{NEW}")
    with suppress(OSError):  # everything is hashed again
        record.parent.mkdir(parents=True, exist_ok=True)
        new.write_text("".join(f"{mark}\n" for mark in sorted(hashed)), encoding="ascii")
        new.replace(record)
