"""The carry-in list: every file with its size and hash, as the desk at the door asks for it."""

from collections.abc import Iterable, Iterator

from apuhost.bundle import sizes
from apuhost.bundle.manifest import Entry

_SIZE_WIDTH = 14


def lines(files: Iterable[Entry]) -> Iterator[str]:
    """A line for each file, by path, and how much it is in all.

    Args:
        files: the manifest's; with manifest.entry() also the manifest and its signature, which are
            carried, too.
    """
    listed = sorted(files, key=lambda each: each.path)
    yield f"{'sha256':64}  {'bytes':>{_SIZE_WIDTH}}  file"
    yield from (f"{each.sha256}  {each.size:>{_SIZE_WIDTH}}  {each.path}" for each in listed)
    total = sum(each.size for each in listed)
    yield f"{len(listed)} files, {total} bytes ({sizes.shown(total)})"
