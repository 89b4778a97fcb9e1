"""A bundle's files on their way to a host: the small ones in one stream, a large one by itself.

Every byte is hashed as it passes, so a stick that reads otherwise the second time is found here.
"""

import tarfile
from datetime import datetime
from pathlib import Path
from typing import IO

from apuhost.bundle import plain
from apuhost.bundle.copying import CutError, copy
from apuhost.bundle.hashing import Told
from apuhost.bundle.item import BundleError
from apuhost.bundle.load import Load
from apuhost.bundle.manifest import Entry
from apuhost.bundle.plain import NotPlainError
from apuhost.bundle.verifying import Bundle

_RECORD = 512
_END = bytes(2 * _RECORD)


def stream(sink: IO[bytes], bundle: Bundle, load: Load, told: Told) -> None:
    """Write a tar of the small files, and of links to what lies on the host already.

    Raises:
        BundleError: a file cannot be read, or is another by now.
    """
    for entry, source in load.links:
        link = _member(bundle, entry)
        link.type, link.linkname = tarfile.LNKTYPE, source
        sink.write(_header(link))
    for entry in load.small:
        member = _member(bundle, entry)
        member.size = entry.size
        sink.write(_header(member))
        _copy(sink, bundle.folder / entry.path, entry, 0, told)
        sink.write(bytes(-entry.size % _RECORD))
    sink.write(_END)


def rest(sink: IO[bytes], bundle: Bundle, entry: Entry, begun: int, told: Told) -> None:
    """Write a file from so many bytes on.

    Raises:
        BundleError: it cannot be read, or is another by now.
    """
    _copy(sink, bundle.folder / entry.path, entry, begun, told)


def _member(bundle: Bundle, entry: Entry) -> tarfile.TarInfo:
    """Of the lock's time: who asks the mirror whether a file is newer must not compare clocks."""
    member = tarfile.TarInfo(f"{bundle.lock.serial}/{entry.path}")
    member.mtime = int(datetime.fromisoformat(bundle.lock.created).timestamp())
    return member


def _header(member: tarfile.TarInfo) -> bytes:
    """In GNU's form: its names are bytes, in whatever locale tar runs; PAX's are converted."""
    return member.tobuf(tarfile.GNU_FORMAT, "utf-8", "strict")


def _copy(sink: IO[bytes], path: Path, entry: Entry, begun: int, told: Told) -> None:
    try:
        with plain.opened(path) as source:
            source.seek(begun)
            digest = copy(source, sink, entry.size - begun, told)
    except (NotPlainError, CutError) as error:
        raise BundleError(f"{path}: {error}") from error
    if not begun and digest != entry.sha256:
        raise BundleError(f"{path}: other bytes than when it was hashed: is its drive sound?")
