"""A bundle written as volumes: no more disk than they take, each whole once its list is there."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from apuhost.bundle import manifest, plain, volume
from apuhost.bundle.copying import CutError, copy
from apuhost.bundle.hashing import Told
from apuhost.bundle.item import BundleError
from apuhost.bundle.plain import NotPlainError
from apuhost.bundle.volume import FAT32, LIST, Part, Slice, Volume, VolumeError


def split(bundle: Path, output: Path, told: Told, limit: int = FAT32) -> tuple[Path, ...]:
    """Write a verified bundle's volumes, of at most `limit` bytes, into a new or empty folder.

    Raises:
        BundleError: the folder is not empty or within the bundle, a file is not as the manifest
            says, the limit is too small, or nothing can be written.
    """
    try:
        _check_place(bundle, output)
        output.mkdir(parents=True, exist_ok=True)
        if any(output.iterdir()):
            raise VolumeError(f"{output}: is not empty: give a new folder for the volumes")
        return tuple(_volumes(bundle, output, told, limit))
    except OSError as error:
        raise BundleError(f"{error.filename or output}: {error.strerror}") from error


def _check_place(bundle: Path, output: Path) -> None:
    """What is there and was not signed would keep the bundle from ever being verified again."""
    if output.resolve().is_relative_to(bundle.resolve()):
        raise VolumeError(f"{output}: lies within the bundle: give a folder elsewhere")


def _volumes(bundle: Path, output: Path, told: Told, limit: int) -> Iterator[Path]:
    own = {name: _content(bundle, name) for name in manifest.OWN}
    try:
        listed = manifest.parse(own[manifest.NAME])
    except manifest.ManifestError as error:
        raise VolumeError(f"{bundle / manifest.NAME}: {error}") from error
    files = [(name, len(content)) for name, content in own.items()]
    planned = volume.plan([*files, *((each.path, each.size) for each in listed.files)], limit)
    digest = hashlib.sha256(own[manifest.NAME]).hexdigest()
    for number, slices in enumerate(planned, 1):
        folder = output / volume.folder(number)
        volume.check_names(slices)
        parts = tuple(_written(bundle, folder, each, told) for each in slices)
        _write_list(folder / LIST, Volume(digest, number, len(planned), parts))
        yield folder


def _content(bundle: Path, name: str) -> bytes:
    try:
        return plain.content(bundle / name, manifest.MOST_BYTES)
    except NotPlainError as error:
        raise VolumeError(f"{bundle / name}: {error}: only a signed bundle is split") from error


def _written(bundle: Path, folder: Path, each: Slice, told: Told) -> Part:
    source, target = bundle / each.path, folder / each.name
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with plain.opened(source) as stream, target.open("wb") as sink:
            if os.fstat(stream.fileno()).st_size != each.whole:
                raise VolumeError(f"{source}: has not {each.whole} bytes, as the manifest says")
            stream.seek(each.offset)
            digest = copy(stream, sink, each.size, told)
            sink.flush()
            os.fsync(sink.fileno())
    except (NotPlainError, CutError) as error:
        raise VolumeError(f"{source}: {error}: verify the bundle") from error
    return Part(each.path, each.offset, each.size, each.whole, digest)


def _write_list(path: Path, made: Volume) -> None:
    with path.open("w", encoding="utf-8") as sink:
        sink.write(volume.as_text(made))
        sink.flush()
        os.fsync(sink.fileno())
