"""Volumes joined while they are copied, all at once or one after the other, as a drive has them.

Every part goes to its place in the file at once, so there is never a second copy. What was joined
is recorded in the folder until all is there; nothing of it may be used before it is verified.
"""

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from apuhost.bundle import manifest, plain, volume
from apuhost.bundle.copying import CutError, copy
from apuhost.bundle.hashing import Told
from apuhost.bundle.item import BundleError
from apuhost.bundle.plain import NotPlainError
from apuhost.bundle.refusal import DamagedError, Fault, RefusedError
from apuhost.bundle.volume import LIST, RECORD, Part, Volume, VolumeError

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC

Given = dict[Path, Volume]


def join(folders: Sequence[Path], into: Path, told: Told) -> tuple[int, ...]:
    """Copy volumes, or all volumes in these folders, to their bundle; the numbers that miss still.

    The same call with the others goes on where this one ended.

    Raises:
        DamagedError: parts that are missing or not as their volume says: all of them.
        RefusedError: a volume without its list.
        BundleError: volumes that do not belong together, or one twice; or nothing can be written.
    """
    record = into / RECORD
    try:
        given = {path: _listed(path) for each in folders for path in _volumes(each)}
        _begin(into, record)
        joined = {path.parent: _listed(path.parent) for path in sorted(record.glob(f"*/{LIST}"))}
        _check(given, joined)
        new = {path: each for path, each in given.items() if each not in joined.values()}
        if faults := [
            fault for path, each in new.items() for fault in _add(path, each, into, told)
        ]:
            raise DamagedError("volumes", faults)
        return _end(into, record, [*joined.values(), *new.values()])
    except OSError as error:
        raise BundleError(f"{error.filename or into}: {error.strerror}") from error


def _volumes(folder: Path) -> list[Path]:
    if (folder / LIST).exists():
        return [folder]
    if found := sorted(folder.glob("volume-*")):
        return found
    raise VolumeError(f"{folder}: neither a volume nor a folder of volumes")


def _listed(path: Path) -> Volume:
    try:
        return volume.parse(plain.content(path / LIST, volume.MOST_LIST_BYTES))
    except (NotPlainError, VolumeError) as error:
        raise RefusedError(f"{path / LIST}: {error}: take a whole copy of this volume") from error


def _begin(into: Path, record: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    if not record.is_dir() and any(into.iterdir()):
        raise VolumeError(f"{into}: is not empty, and no join was begun there")
    record.mkdir(exist_ok=True)


def _check(given: Given, joined: Given) -> None:
    """Whether all are of one bundle, split once, each there once."""
    numbers: dict[int, Path] = {}
    for path, each in given.items():
        if other := numbers.get(each.number):
            raise VolumeError(f"volume {each.number} is there twice: {other} and {path}")
        numbers[each.number] = path
    everyone = {**joined, **given}
    first = next(iter(everyone.values()))
    for path, each in everyone.items():
        same = [one for one in joined.values() if one.number == each.number]
        if (each.manifest, each.count) != (first.manifest, first.count) or same not in ([], [each]):
            raise VolumeError(f"{path}: of another bundle, or split another way, than the others")


def _add(path: Path, each: Volume, into: Path, told: Told) -> Iterator[Fault]:
    """Copy the parts; the volume is recorded once all are good."""
    faults = [
        Fault(str(path / part.name), said)
        for part in each.parts
        if (said := _copied(path / part.name, part, into / part.path, told))
    ]
    yield from faults
    if not faults:
        kept = into / RECORD / volume.folder(each.number)
        kept.mkdir(exist_ok=True)
        new = kept / f"{LIST}.new"
        new.write_text(volume.as_text(each), encoding="utf-8")
        new.replace(kept / LIST)


def _copied(source: Path, part: Part, target: Path, told: Told) -> str:
    """Copy one part to its place; what is wrong with it, "" if nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            plain.opened(source) as stream,
            os.fdopen(os.open(target, _FLAGS, 0o644), "wb") as sink,
        ):
            if os.fstat(stream.fileno()).st_size != part.size:
                return f"has not {part.size} bytes"
            sink.seek(part.offset)
            digest = copy(stream, sink, part.size, told)
            sink.flush()
            os.fsync(sink.fileno())
    except (NotPlainError, CutError) as error:
        return str(error)
    return "" if digest == part.sha256 else "changed: other bytes than its volume's list says"


def _end(into: Path, record: Path, volumes: Iterable[Volume]) -> tuple[int, ...]:
    """What is missing; where nothing is, the record goes."""
    everyone = sorted(volumes, key=lambda each: each.number)
    if missing := volume.missing(everyone):
        return missing
    if faults := list(volume.gaps(everyone)):
        raise DamagedError("volumes", faults)
    if _manifest_hash(into) != everyone[0].manifest:
        raise DamagedError("volumes", [Fault(manifest.NAME, "not the one the volumes are of")])
    shutil.rmtree(record)
    return ()


def _manifest_hash(into: Path) -> str:
    """In hex; "" where there is no manifest."""
    try:
        content = plain.content(into / manifest.NAME, manifest.MOST_BYTES)
    except NotPlainError:
        return ""
    return hashlib.sha256(content).hexdigest()
