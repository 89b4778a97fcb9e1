"""A bundle's files in their folder: each put there whole, and only where it is not there yet."""

import os
import shutil
from pathlib import Path

from apuhost.bundle import blobs, manifest, paths, plain, signature
from apuhost.bundle.copies import NEW, Copies
from apuhost.bundle.item import BundleError, Item, Text
from apuhost.bundle.manifest import Entry, Manifest, ManifestError
from apuhost.bundle.plain import NotPlainError


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


def item(folder: Path, wanted: Item, cache: Path, copies: Copies) -> Entry:
    """Put a fetched file in its place: the cache's very file where that is on the same disk.

    Raises:
        BundleError: it cannot be written.
    """
    source, target = blobs.place(wanted.file, cache), folder / wanted.path
    digest = wanted.file.digest.removeprefix("sha256:")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not (_is_linked(source, target) or _link(source, target) or copies.has(target, digest)):
            copies.make(source, target, digest)
    except OSError as error:
        raise BundleError(f"{target}: {error.strerror}") from error
    return Entry(path=wanted.path, size=wanted.file.size, sha256=digest)


def _is_linked(source: Path, target: Path) -> bool:
    try:
        return os.path.samestat(target.lstat(), source.stat())
    except FileNotFoundError:
        return False


def _link(source: Path, target: Path) -> bool:
    new = target.with_name(f"{target.name}{NEW}")
    new.unlink(missing_ok=True)
    if source.is_symlink():  # that one would be linked itself
        return False
    try:
        os.link(source, new)
    except OSError:  # another disk, or one that has no links
        return False
    new.replace(target)
    return True


def text(folder: Path, wanted: Text) -> Entry:
    """Write a file that a build makes by itself; one that is right stays.

    Raises:
        BundleError: it cannot be written.
    """
    target = folder / wanted.path
    try:
        if not _is_there(target, wanted.content):
            target.parent.mkdir(parents=True, exist_ok=True)
            new = target.with_name(f"{target.name}{NEW}")
            new.write_bytes(wanted.content)
            new.replace(target)
    except OSError as error:
        raise BundleError(f"{target}: {error.strerror}") from error
    return manifest.entry(wanted.path, wanted.content)


def _is_there(target: Path, content: bytes) -> bool:
    try:
        return plain.content(target, len(content)) == content
    except NotPlainError:
        return False


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
