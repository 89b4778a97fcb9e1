"""What a mirror's host lacks of a bundle, worked out from what lies there. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apuhost.bundle.manifest import OWN, Entry

LARGE = 16 * 1024 * 1024
"""From this size on a file goes on where it was cut off, and has a connection of its own."""

LINKED = 1024 * 1024
"""From this size on a file that an earlier bundle has is linked: less is sent as fast."""

_BLOCK = 4096
"""What a file's last bytes take on a disk."""

NOT_PLAIN = -1
"""In the place of the size of what is no plain file."""


@dataclass(frozen=True)
class Held:
    """What lies below a mirror's folder of bundles.

    Attributes:
        free: bytes that fit there yet.
        whole: for every bundle that is whole, by its serial, its manifest's hash.
        files: each file's size by its path, which begins with the bundle's serial.
    """

    free: int
    whole: Mapping[str, str]
    files: Mapping[str, int]


@dataclass(frozen=True)
class Load:
    """What is to be done so that all of a bundle lies there.

    Attributes:
        leaving: paths, as in Held, of what is not the bundle's.
        links: files with the path, as in Held, of the same one in an earlier bundle.
        small: files that are sent one after the other.
        large: files that are sent each by itself, from so many bytes on.
    """

    leaving: tuple[str, ...]
    links: tuple[tuple[Entry, str], ...]
    small: tuple[Entry, ...]
    large: tuple[tuple[Entry, int], ...]

    @property
    def size(self) -> int:
        """Bytes to send."""
        rest = sum(entry.size - begun for entry, begun in self.large)
        return rest + sum(entry.size for entry in self.small)

    @property
    def room(self) -> int:
        """Bytes that it takes on the disk, at most."""
        return self.size + _BLOCK * (len(self.small) + len(self.large))


def load(
    serial: str, entries: Iterable[Entry], held: Held, earlier: Mapping[tuple[str, int], str]
) -> Load:
    """What a host lacks of the files of the bundle with this serial.

    A file of the right size counts as there: sha256sum has the last word on the host. Its list,
    the manifest, is sent each time.

    Args:
        serial: the bundle's, as its folder is named.
        entries: all its files, the manifest and its signature too.
        held: what lies on the host.
        earlier: where files of other bundles lie, by hash and size.
    """
    wanted = {f"{serial}/{entry.path}": entry for entry in entries}
    leaving = tuple(
        path
        for path, size in held.files.items()
        if path.startswith(f"{serial}/") and not _fits(wanted.get(path), size)
    )
    kept = {path: size for path, size in held.files.items() if path not in set(leaving)}
    lacking = {
        path: each
        for path, each in wanted.items()
        if each.path in OWN or kept.get(path) != each.size
    }
    links = {
        path: earlier[key]
        for path, entry in lacking.items()
        if entry.size >= LINKED and (key := (entry.sha256, entry.size)) in earlier
    }
    sent = {path: entry for path, entry in lacking.items() if path not in links}
    return Load(
        leaving,
        tuple((wanted[path], source) for path, source in links.items()),
        tuple(entry for entry in sent.values() if entry.size < LARGE),
        tuple((e, kept.get(path, 0)) for path, e in sent.items() if e.size >= LARGE),
    )


def _fits(entry: Entry | None, size: int) -> bool:
    """Whether a file of that size may be this one, or its beginning."""
    return entry is not None and NOT_PLAIN < size <= entry.size


def places(serial: str, entries: Iterable[Entry], held: Held) -> dict[tuple[str, int], str]:
    """Where files of a bundle lie whole on the host, by hash and size."""
    paths = ((f"{serial}/{entry.path}", entry) for entry in entries)
    return {
        (entry.sha256, entry.size): path
        for path, entry in paths
        if held.files.get(path) == entry.size
    }
