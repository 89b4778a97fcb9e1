"""The carry-in list: every file with its size, hash and licence, as the desk at the door asks."""

from collections.abc import Iterable, Iterator, Mapping

from apuhost.bundle import licences, sizes
from apuhost.bundle.manifest import Entry
from apuhost.report.text import visible

_SIZE_WIDTH = 14


def lines(files: Iterable[Entry], stated: Mapping[str, str]) -> Iterator[str]:
    """A line for each file, by path, and how much it is in all.

    Args:
        files: the manifest's; with manifest.entry() also the manifest and its signature, which are
            carried, too.
        stated: licences by path, or by the folder of paths.
    """
    listed = sorted(files, key=lambda each: each.path)
    width = max(len(path) for path in ("file", *(each.path for each in listed)))
    yield f"{'sha256':64}  {'bytes':>{_SIZE_WIDTH}}  {'file':{width}}  licence"
    for each in listed:
        licence = visible(licences.of(each.path, stated))
        yield f"{each.sha256}  {each.size:>{_SIZE_WIDTH}}  {each.path:{width}}  {licence}"
    total = sum(each.size for each in listed)
    yield f"{len(listed)} files, {total} bytes ({sizes.shown(total)})"
