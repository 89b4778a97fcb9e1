"""One volume of a split bundle: a folder that a stick or a disc carries, and its list of parts.

A file that fits is at its own path, so that it can be looked at and hashed there; a slice of one
that does not has its place in the file behind the name.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from apuhost.bundle import paths
from apuhost.bundle.item import BundleError
from apuhost.bundle.manifest import MOST_FILE_BYTES
from apuhost.bundle.refusal import Fault

FORMAT = 1
LIST = "volume.json"
RECORD = ".volumes"
"""Where a join notes the lists of the volumes that it has: no part may go there."""
MOST_VOLUMES = 9999
FAT32 = 2**32 - 1
"""Bytes that a file of FAT32 has at most, and one of ISO 9660, too."""
MOST_LIST_BYTES = 64 * 1024 * 1024
_ROOM = 512
"""Bytes that a volume's list needs at most for itself; and for each part, beside its path."""
_LEAST = 16
"""No slice but a file's last is smaller than this part of a volume: small files stay whole."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Bytes = Annotated[int, Field(ge=0, le=MOST_FILE_BYTES)]


class VolumeError(BundleError):
    """A bundle that cannot be split so, or volumes that cannot be joined."""


@dataclass(frozen=True)
class Slice:
    """`size` bytes from `offset` on of a file that has `whole` bytes."""

    path: str
    offset: Bytes
    size: Bytes
    whole: Bytes

    @property
    def name(self) -> str:
        """Where it is in its volume's folder."""
        return self.path if self.size == self.whole else f"{self.path}.from-{self.offset}"


@dataclass(frozen=True)
class Part(Slice):
    """A slice whose bytes are known."""

    sha256: Sha256


@dataclass(frozen=True)
class Volume:
    """Number `number` of `count`; `manifest` is the hash of the bundle's manifest."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    manifest: Sha256
    number: Annotated[int, Field(ge=1)]
    count: Annotated[int, Field(ge=1, le=MOST_VOLUMES)]
    parts: tuple[Part, ...]
    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)] = FORMAT


_VOLUME = TypeAdapter(Volume)


def folder(number: int) -> str:
    """The folder's name: `volume-01`."""
    return f"volume-{number:02}"


def plan(files: Iterable[tuple[str, int]], limit: int) -> tuple[tuple[Slice, ...], ...]:
    """What goes into which volume: each is filled, in the files' order, up to `limit` bytes.

    A volume's list counts; what a file system needs for itself does not. No part is larger than a
    stick's or a disc's file system takes, whatever the limit.

    Raises:
        VolumeError: the limit is too small for anything to fit.
    """
    volumes: list[list[Slice]] = [[]]
    room = limit - _ROOM
    for path, whole in files:
        own, rest = _ROOM + len(path.encode()), whole
        if limit - _ROOM < own + limit // _LEAST:
            raise VolumeError(f"{limit} bytes are too few for a volume: {path} would not fit")
        while True:
            if room < own + min(rest, limit // _LEAST):
                volumes.append([])
                room = limit - _ROOM
            size = min(rest, room - own, FAT32)
            volumes[-1].append(Slice(path, whole - rest, size, whole))
            room, rest = room - own - size, rest - size
            if not rest:
                break
    if len(volumes) > MOST_VOLUMES:
        raise VolumeError(f"{limit} bytes are too few for a volume: there would be {len(volumes)}")
    return tuple(map(tuple, volumes))


def as_text(volume: Volume) -> str:
    """The list's text."""
    return json.dumps(asdict(volume), indent=1, ensure_ascii=False) + "\n"


def parse(content: bytes) -> Volume:
    """Read the list's bytes.

    Raises:
        VolumeError: no such list, another format, or paths that cannot be in one folder.
    """
    try:
        volume = _VOLUME.validate_json(content)
        check_names(volume.parts)
        paths.check([RECORD, *(part.path for part in volume.parts)])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise VolumeError(f"{where}: {first['msg']}") from error
    except paths.PathError as error:
        raise VolumeError(f"parts: {error}") from error
    if volume.number > volume.count:
        raise VolumeError(f"number: {volume.number} of {volume.count}")
    return volume


def check_names(slices: Iterable[Slice]) -> None:
    """Whether all of them can lie in one volume, beside its list.

    Raises:
        PathError: the first that cannot.
    """
    paths.check([LIST, *(each.name for each in slices)])


def missing(volumes: Sequence[Volume]) -> tuple[int, ...]:
    """The numbers that are not among these volumes of one bundle."""
    found = {each.number for each in volumes}
    return tuple(number for number in range(1, volumes[0].count + 1) if number not in found)


def gaps(volumes: Iterable[Volume]) -> Iterator[Fault]:
    """Files whose parts are not the whole file, once."""
    parts = sorted((part for each in volumes for part in each.parts), key=_place)
    for path, of_one in groupby(parts, key=lambda part: part.path):
        end, wholes = 0, set()
        for part in of_one:
            end = end + part.size if part.offset == end else -1
            wholes.add(part.whole)
        if wholes != {end}:
            yield Fault(path, "its parts do not make the file")


def _place(part: Part) -> tuple[str, int]:
    return part.path, part.offset
