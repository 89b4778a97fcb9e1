"""A bundle's files in their folder: each put there whole, and only where it is not there yet."""

import os
import shutil
from pathlib import Path

from apuhost.bundle import blobs, manifest, paths, plain, signature
from apuhost.bundle.item import BundleError, Item, Text
from apuhost.bundle.manifest import Entry, Manifest, ManifestError
from apuhost.bundle.plain import NotPlainError

_NEW = ".apuhost-new"
_TIMES_APART_S = 2  # what FAT keeps of a time


def claim(folder: Path) -> None:
    """Make the folder ours: from here on it is no bundle until it is signed again.

    Raises:
        BundleError: there are other files in it than a bundle's, or it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        begun = folder / manifest.NAME
        if any(folder.iterdir()) and not _is_ours(begun):
            raise BundleError(f"{folder} holds other files than a bundle: choose an empty folder")
        begun.touch()
        signature.path_of(begun).unlink(missing_ok=True)
    except OSError as error:
        raise BundleError(f"{error.filename or folder}: {error.strerror}") from error


def _is_ours(begun: Path) -> bool:
    """Whether it is a bundle's: others call files manifest.json, too, and clear() removes files.

    One without a byte is what claim() begins with; of zeros alone, what a power cut may leave.
    """
    try:
        found = plain.content(begun, manifest.MOST_BYTES)
        return not found.strip(b"\0") or bool(manifest.parse(found))
    except (NotPlainError, ManifestError):
        return False


def item(folder: Path, wanted: Item, cache: Path) -> Entry:
    """Put a fetched file in its place: the cache's very file where that is on the same disk.

    Raises:
        BundleError: it cannot be written.
    """
    source, target = blobs.place(wanted.file, cache), folder / wanted.path
    try:
        if not (target.exists() and _is_there(source, target)):
            _put(source, target)
    except OSError as error:
        raise BundleError(f"{target}: {error.strerror}") from error
    digest = wanted.file.digest.removeprefix("sha256:")
    return Entry(path=wanted.path, size=wanted.file.size, sha256=digest)


def _is_there(source: Path, target: Path) -> bool:
    """The very file, or a copy of its size and time, as rsync judges; verify reads every byte."""
    here, there = source.stat(), target.stat()
    same_time = abs(here.st_mtime - there.st_mtime) <= _TIMES_APART_S
    return target.samefile(source) or (here.st_size == there.st_size and same_time)


def _put(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f"{target.name}{_NEW}")
    new.unlink(missing_ok=True)
    try:
        os.link(source, new)
    except OSError:  # another disk, or one that has no links
        shutil.copyfile(source, new)
        shutil.copystat(source, new)
    new.replace(target)


def text(folder: Path, wanted: Text) -> Entry:
    """Write a file that a build makes by itself; one that is right stays.

    Raises:
        BundleError: it cannot be written.
    """
    target = folder / wanted.path
    try:
        if not target.is_file() or target.read_bytes() != wanted.content:
            target.parent.mkdir(parents=True, exist_ok=True)
            new = target.with_name(f"{target.name}{_NEW}")
            new.write_bytes(wanted.content)
            new.replace(target)
    except OSError as error:
        raise BundleError(f"{target}: {error.strerror}") from error
    return manifest.entry(wanted.path, wanted.content)


def clear(folder: Path, listed: Manifest) -> None:
    """Take away what an earlier build left and this one does not have.

    Raises:
        BundleError: it cannot be removed.
    """
    files = {each.path for each in listed.files}.union(manifest.OWN)
    folders = {parent for path in files for parent in paths.parents(path)}
    try:
        for root, below, names in os.walk(folder):
            under = Path(root).relative_to(folder)
            for name in [each for each in below if (under / each).as_posix() not in folders]:
                shutil.rmtree(Path(root) / name)
                below.remove(name)
            for name in names:
                if (under / name).as_posix() not in files:
                    (Path(root) / name).unlink()
    except OSError as error:
        raise BundleError(f"{error.filename or folder}: {error.strerror}") from error
