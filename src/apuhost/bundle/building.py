"""A bundle built from its lock: fetched, laid out, listed and signed.

The signature comes last and goes first: a folder whose build was broken off is no bundle. What is
there already and right is left alone, so a build that is begun again goes on.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from apuhost import lockfile, web
from apuhost.bundle import (
    blobs,
    copies,
    debs,
    files,
    images,
    laying,
    licences,
    manifest,
    models,
    openpgp,
    repository,
    signature,
    toolkit,
    wheels,
)
from apuhost.bundle.cache import Progress, fetch, has
from apuhost.bundle.item import Item, Text
from apuhost.bundle.manifest import LOCK, Entry
from apuhost.bundle.openpgp import Key
from apuhost.lockfile import Blob, Lock
from apuhost.oci import credentials
from apuhost.oci.registry import Registries

_AT_ONCE = 4
_IMAGES, _MODELS, _PLAIN = "images", "models", "plain"
_WAYS: tuple[tuple[str, Callable[[Lock], Iterator[Item]]], ...] = (
    (_IMAGES, images.items),
    (_MODELS, models.items),
    (_PLAIN, debs.items),
    (_PLAIN, wheels.items),
    (_PLAIN, files.items),
)
"""Each kind, and how it is asked for."""


@dataclass(frozen=True)
class Order:
    """What is built from what.

    Attributes:
        lock: everything, by its hash.
        checkout: apuhost's own, at the lock's commit.
        cache: where downloads are kept, by their hashes.
        key: the SSH private key that signs.
    """

    lock: Lock
    checkout: Path
    cache: Path
    key: Path


def size(locked: Lock) -> int:
    """Bytes that a build fetches, each file as often as it is in the bundle."""
    return sum(item.file.size for _, items in _WAYS for item in items(locked))


def build(order: Order, folder: Path, told: Progress) -> None:
    """Make the folder the lock's bundle.

    Raises:
        ApuhostError: something cannot be had or is not the lock's, the folder is somebody else's,
            or the key does not sign.
    """
    toolkit.check(order.lock, order.checkout)  # before what was signed is given up, and hours go by
    signature.check_key(order.key)
    laying.claim(folder)
    items = _fetched(order, told)
    with copies.of(folder, order.cache) as known:
        entries = [laying.item(folder, item, order.cache, known) for item in items]
    entries += [laying.text(folder, text) for text in _texts(order)]
    listed = _listed(order.lock, entries)
    laying.clear(folder, listed)
    laying.text(folder, Text(manifest.NAME, manifest.as_text(listed).encode()))
    signature.sign(folder / manifest.NAME, order.key)


def _listed(locked: Lock, entries: list[Entry]) -> manifest.Manifest:
    return manifest.made(locked.serial, locked.created, locked.apuhost, entries)


def _fetched(order: Order, told: Progress) -> list[Item]:
    """Everything is in the cache then; where it was, nobody is asked."""
    wanted = [(item, way) for way, items in _WAYS for item in items(order.lock)]
    missing = []
    for item, way in wanted:
        if has(order.cache, item):
            told(item.file.size)
        else:
            missing.append((item, way))
    if missing:
        _fetch(order.cache, missing, told)
    return [item for item, _ in wanted]


def _fetch(cache: Path, missing: Iterable[tuple[Item, str]], told: Progress) -> None:
    """Several at once, since most is waiting."""
    known = credentials.read()
    with (
        Registries(known) as registries,
        Registries(known, models.ACCEPT) as model_registries,
        web.client() as client,
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        gets = {
            _IMAGES: registries.get,
            _MODELS: model_registries.get,
            _PLAIN: web.getter(client),
        }
        fetching = [pool.submit(fetch, cache, item, gets[way], told) for item, way in missing]
        try:
            for each in fetching:
                each.result()
        except BaseException:
            pool.shutdown(cancel_futures=True, wait=False)
            raise


def _texts(order: Order) -> Iterator[Text]:
    locked = order.lock

    def place(blob: Blob) -> Path:
        return blobs.place(blob, order.cache)

    yield from images.texts(locked)
    yield from models.texts(locked)
    yield from wheels.texts(locked)
    key = Key(openpgp.home())
    yield from repository.texts(locked, place, key)
    yield from licences.texts(locked, place)
    yield from toolkit.texts(locked, order.checkout)
    yield Text(LOCK, lockfile.as_text(locked).encode())
