"""The cache that a bundle is built from: each file under its hash, fetched once.

A download is CACHE/sha256/HEX.part until its last byte is written and its hash is right. Whatever
ends it before, even a power cut, leaves a part that the next run goes on with.
"""

import errno
import hashlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import httpx

from apuhost import locks, web
from apuhost.bundle.item import BundleError, Item
from apuhost.web import Get

Progress = Callable[[int], None]
"""Told how many bytes more are here: what was here before at once, fewer when a part is of no use.
The numbers of a file add up to its size."""

_WAITS_S = (1, 2, 4, 8, 16)  # between tries that bring no byte
_LONGEST_WAIT_S = 60
_MODE = 0o644
_CHUNK = 1 << 20
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")
_CHANGED = "nothing of it is used; if its source changed it on purpose, lock again"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_TIMES_BEGIN = 315_532_800  # 1980, with which FAT's times begin


class _LaterError(Exception):
    """Nothing came, or not all: worth another try, perhaps after so many seconds."""

    def __init__(self, reason: str, seconds: int = 0) -> None:
        super().__init__(reason)
        self.seconds = seconds


def unheard(_: int) -> None:
    """Nobody follows the progress."""


def fetch(cache: Path, item: Item, get: Get, progress: Progress = unheard) -> Path:
    """Return a file's place in the cache, fetched if it is not there yet.

    A second run at once waits for the first and shares what it brings.

    Raises:
        BundleError: it cannot be had, is another file than the lock's, or finds no room.
        ApuhostError: what `get` raises.
    """
    blob = cache.joinpath(*item.file.digest.split(":"))
    part = blob.with_name(f"{blob.name}.part")
    try:
        if has(cache, item):
            progress(item.file.size)
            return blob
        with locks.exclusive(part):
            if has(cache, item):  # the run that we waited for
                part.unlink()
                progress(item.file.size)
            else:
                _make(part, item, get, progress)
                _put(part, blob)
    except OSError as error:
        raise BundleError(_no_room(error, cache, item)) from error
    return blob


def has(cache: Path, item: Item) -> bool:
    """Whether a file is here already: hashed once, and not written to since.

    A bundle on the same disk is linked to it: who changes a file there changes it here.
    """
    blob = cache.joinpath(*item.file.digest.split(":"))
    if not blob.is_file() or blob.stat().st_size != item.file.size:
        return False
    if blob.stat().st_mtime == _time(blob.name):
        return True
    with blob.open("rb") as stream:
        right = hashlib.file_digest(stream, "sha256").hexdigest() == blob.name
        os.fsync(stream.fileno())  # else a power cut could leave the time without the bytes
    if right:
        _stamp(blob, blob.name)
    return right


def _time(digest: str) -> int:
    """The time of a file that was hashed, made of its hash: whoever writes to it changes it.

    It is before 1998; even, as FAT keeps seconds.
    """
    return _TIMES_BEGIN + 2 * int(digest[:7], 16)


def _stamp(path: Path, digest: str) -> None:
    os.utime(path, (_time(digest), _time(digest)))


def _make(path: Path, item: Item, get: Get, progress: Progress) -> None:
    """Complete a part; one that turns out wrong is fetched once more, from its first byte."""
    with path.open("r+b") as stream:
        part = _Part(stream, progress)
        for _ in range(2):
            _fill(part, item, get)
            if (found := part.digest) == item.file.digest:
                part.finish()
                return
            part.empty()
    raise BundleError(f"{item.url}: {found} came, the lock has {item.file.digest}: {_CHANGED}")


def _put(part: Path, blob: Path) -> None:
    _stamp(part, blob.name)
    part.replace(blob)
    folder = os.open(blob.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _no_room(error: OSError, cache: Path, item: Item) -> str:
    if error.errno in _FULL:
        size = f"{item.file.size:,} bytes"
        return (
            f"{cache}: no room for {item.path} ({size}): free some and run this again: what came"
            " is kept"
        )
    return f"{error.filename or cache}: {error.strerror}: {item.path} cannot be written"


class _Part:
    """The bytes that are here, hashed as they arrive."""

    def __init__(self, stream: BinaryIO, progress: Progress) -> None:
        self._stream = stream
        self._progress = progress
        self._hash = hashlib.sha256()
        self.size = 0
        while chunk := stream.read(_CHUNK):
            self._count(chunk)

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"

    def add(self, chunk: bytes) -> None:
        self._stream.write(chunk)
        self._stream.flush()  # what was counted survives a kill
        self._count(chunk)

    def empty(self) -> None:
        self._stream.seek(0)
        self._stream.truncate()
        self._progress(-self.size)
        self._hash, self.size = hashlib.sha256(), 0

    def finish(self) -> None:
        os.fchmod(self._stream.fileno(), _MODE)
        os.fsync(self._stream.fileno())

    def _count(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self.size += len(chunk)
        self._progress(len(chunk))


def _fill(part: _Part, item: Item, get: Get) -> None:
    """Ask until as many bytes are here as the lock says; what comes renews the patience."""
    if part.size > item.file.size:
        part.empty()
    waits = iter(_WAITS_S)
    while (before := part.size) < item.file.size:
        try:
            _ask(part, item, get)
        except _LaterError as error:
            if part.size > before:
                waits = iter(_WAITS_S)
            wait = next(waits, None)
            if wait is None:
                raise BundleError(str(error)) from error
            time.sleep(max(wait, error.seconds))


def _ask(part: _Part, item: Item, get: Get) -> None:
    try:
        with get(item.url, part.size) as answer:
            _take(answer, part, item)
    except httpx.RequestError as error:
        reason = web.no_answer(error, item.url)
        raise (_LaterError if web.may_pass(error) else BundleError)(reason) from error
    except web.NO_ADDRESS as error:
        raise BundleError(f"{item.url}: no address ({error}): lock again") from error
    if part.size < item.file.size:
        raise _LaterError(f"{item.url}: ended after {part.size:,} of {item.file.size:,} bytes")


def _take(answer: httpx.Response, part: _Part, item: Item) -> None:
    """Write what an answer brings, as far as it is the file that was asked for."""
    _refuse(answer, part, item)
    if answer.status_code != httpx.codes.PARTIAL_CONTENT and part.size:
        part.empty()  # a server without ranges begins at the first byte
    for chunk in answer.iter_raw():
        part.add(chunk)
        if part.size > item.file.size:
            part.empty()
            raise BundleError(_other_size(item, "more"))


def _refuse(answer: httpx.Response, part: _Part, item: Item) -> None:
    if answer.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE and part.size:
        part.empty()
        raise _LaterError(f"{item.url}: does not go on where it ended")
    if reason := web.fault(answer, item.url):
        if web.is_passing(answer):
            raise _LaterError(reason, _retry_after(answer))
        raise BundleError(reason)
    start, total = _told(answer)
    if start not in (None, part.size):
        part.empty()
        raise _LaterError(f"{item.url}: does not go on where it ended")
    if total not in (None, item.file.size):
        raise BundleError(_other_size(item, f"{total:,}"))


def _told(answer: httpx.Response) -> tuple[int | None, int | None]:
    """Where an answer begins and how long the whole file is, as far as it says so."""
    if answer.status_code == httpx.codes.PARTIAL_CONTENT:
        match = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        return (int(match[1]), int(match[2])) if match else (None, None)
    length = answer.headers.get("Content-Length", "")
    return None, int(length) if length.isdecimal() else None


def _other_size(item: Item, found: str) -> str:
    return f"{item.url}: has {found} bytes, the lock says {item.file.size:,}: {_CHANGED}"


def _retry_after(answer: httpx.Response) -> int:
    asked = answer.headers.get("Retry-After", "")
    return min(int(asked), _LONGEST_WAIT_S) if asked.isdecimal() else 0
