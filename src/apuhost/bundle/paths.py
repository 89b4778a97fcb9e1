"""Paths that a bundle may hold: they stay in its folder, and a stick's file system knows them."""

import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from apuhost.bundle.item import BundleError

MOST_BYTES = 1024
MOST_NAME_BYTES = 255
_NOT_ON_EXFAT = frozenset('"*:<>?\\|')
"""With the control characters: exFAT file system specification, 7.7.3."""


class PathError(BundleError):
    """A path that a bundle may not hold, or two that exclude each other."""


def check(paths: Iterable[str]) -> None:
    """Whether all of them can lie in one folder.

    Raises:
        PathError: the first that cannot.
    """
    files: set[str] = set()
    folders: dict[str, str] = {}
    for path in paths:
        if said := fault(path):
            raise PathError(f"{path!r}: {said}")
        if _folded(path) in files:
            raise PathError(f"{path!r}: there twice (upper and lower case count as one)")
        files.add(_folded(path))
        for folder in parents(path):
            spelt = folders.setdefault(_folded(folder), folder)
            if spelt != folder:
                raise PathError(f"{path!r}: its folder is also spelt {spelt!r}")
    for both in sorted(files & folders.keys()):
        raise PathError(f"{folders[both]!r}: a file and a folder at once")


def fault(path: str) -> str:
    """Why this path may not be in a bundle; "" if it may."""
    parts = path.split("/")
    if not path.isprintable():
        return "has a control character"
    if bad := sorted(_NOT_ON_EXFAT & set(path)):
        return f"has {' '.join(bad)}, which exFAT does not know"
    if any(not part or part.endswith((".", " ")) for part in parts):
        return "not a relative path of names that end with no dot and no blank"
    if max(len(part.encode()) for part in parts) > MOST_NAME_BYTES:
        return "has too long a name"
    if len(path.encode()) > MOST_BYTES:
        return "too long"
    return ""


def parents(path: str) -> Iterator[str]:
    """`a` and `a/b` for `a/b/c`."""
    return (str(each) for each in reversed(PurePosixPath(path).parents[:-1]))


def _folded(path: str) -> str:
    """The same for paths that some file system takes for one."""
    return unicodedata.normalize("NFC", path.casefold())
