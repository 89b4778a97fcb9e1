"""A bundle's apt repository of a few small packages, from the Debian mirror of this machine."""

from dataclasses import dataclass, replace
from pathlib import Path

from apuhost import places, web
from apuhost.bundle import blobs, debs, repository, sources
from apuhost.bundle.cache import fetch
from apuhost.bundle.openpgp import Key
from apuhost.bundle.sources import Sources
from apuhost.lockfile import Blob, Lock, Target

TARGET = Target("debian", "trixie", "amd64", "3.13")
NOTHING = Lock(1, "2026-11-30T09:00:00+00:00", "0.1.0", TARGET)


@dataclass(frozen=True)
class Cache:
    """Where lists and packages stay from one run of the tests to the next."""

    folder: Path

    def lock(self, *names: str) -> Lock:
        """What these packages need, locked and fetched."""
        found = debs.resolve(TARGET, names, Sources(sources.of_target(TARGET)), self.folder)
        lock = replace(NOTHING, releases=found[0], debs=found[1])
        with web.client() as asking:
            for item in debs.items(lock):
                fetch(self.folder, item, web.getter(asking))
        return lock

    def file(self, blob: Blob) -> Path:
        """Where a fetched file is."""
        return blobs.place(blob, self.folder)


def cache() -> Cache:
    """In the user's cache, as the rehearsal's base image."""
    return Cache(places.cache_directory() / "tests")


def written(lock: Lock, cache: Cache, key: Key, folder: Path) -> Path:
    """The apt part of a bundle's folder."""
    for item in debs.items(lock):
        place = folder / item.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(cache.file(item.file).read_bytes())
    for text in repository.texts(lock, cache.file, key):
        place = folder / text.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.content)
    return folder
