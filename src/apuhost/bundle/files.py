"""Further files, files/: each by its URL and the hash that mirror_files gives."""

from collections.abc import Iterable, Iterator

from apuhost.bundle import lengths
from apuhost.bundle.item import BundleError, Item
from apuhost.lockfile import Blob, File, Lock
from apuhost.settings.files import PinnedFile
from apuhost.web import Get


def resolve(pinned: Iterable[PinnedFile], get: Get) -> tuple[File, ...]:
    """The files with their sizes, which their servers say; their bytes come with a build.

    Raises:
        BundleError: two files of one name, or a server that does not give one.
    """
    by_name: dict[str, PinnedFile] = {}
    for each in pinned:
        other = by_name.setdefault(each.file_name.casefold(), each)
        if other.sha256 != each.sha256:
            raise BundleError(
                f"mirror_files: {other.url} and {each.url} would both be {each.file_name}: give"
                " one of them another name"
            )
    found = sorted(by_name.values(), key=lambda each: each.file_name)
    return tuple(
        File(each.file_name, each.url, Blob(f"sha256:{each.sha256}", lengths.told(each.url, get)))
        for each in found
    )


def items(lock: Lock) -> Iterator[Item]:
    """The files."""
    for each in lock.files:
        yield Item(f"files/{each.name}", each.file, each.url)
