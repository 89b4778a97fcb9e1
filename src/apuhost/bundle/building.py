"""A bundle built from its lock: fetched, laid out, listed and signed.

The signature comes last and goes first: a folder whose build was broken off is no bundle. What is
there already and right is left alone, so a build that is begun again goes on.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from apuhost import lockfile, web
from apuhost.bundle import (
    blobs,
    debs,
    files,
    images,
    laying,
    manifest,
    models,
    openpgp,
    repository,
    signature,
    toolkit,
    wheels,
)
from apuhost.bundle.cache import Progress, fetch
from apuhost.bundle.item import Item, Text
from apuhost.bundle.manifest import Entry
from apuhost.bundle.openpgp import Key
from apuhost.bundle.verifying import LOCK
from apuhost.lockfile import Lock
from apuhost.oci import credentials
from apuhost.oci.registry import Registries
from apuhost.web import Get

_AT_ONCE = 4


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
    everything = chain(*(kind.items(locked) for kind in (images, models, debs, wheels, files)))
    return sum(item.file.size for item in everything)


def build(order: Order, folder: Path, told: Progress) -> None:
    """Make the folder the lock's bundle.

    Raises:
        ApuhostError: something cannot be had or is not the lock's, the folder is somebody else's,
            or the key does not sign.
    """
    laying.claim(folder)
    items = _fetched(order, told)
    entries = [laying.item(folder, item, order.cache) for item in items]
    entries += [laying.text(folder, text) for text in _texts(order)]
    listed = _listed(order.lock, entries)
    laying.clear(folder, listed)
    laying.text(folder, Text(manifest.NAME, manifest.as_text(listed).encode()))
    signature.sign(folder / manifest.NAME, order.key)


def _listed(locked: Lock, entries: list[Entry]) -> manifest.Manifest:
    return manifest.made(locked.serial, locked.created, locked.apuhost, entries)


def _fetched(order: Order, told: Progress) -> list[Item]:
    """Everything is in the cache then; several at once, since most is waiting."""
    known, locked = credentials.read(), order.lock
    with (
        Registries(known) as registries,
        Registries(known, models.ACCEPT) as model_registries,
        web.client() as client,
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        plain = web.getter(client)
        ways: tuple[tuple[Get, Callable[[Lock], Iterator[Item]]], ...] = (
            (registries.get, images.items),
            (model_registries.get, models.items),
            (plain, debs.items),
            (plain, wheels.items),
            (plain, files.items),
        )
        asked = [(item, get) for get, items in ways for item in items(locked)]
        fetching = [pool.submit(fetch, order.cache, item, get, told) for item, get in asked]
        try:
            for each in fetching:
                each.result()
        except BaseException:
            pool.shutdown(cancel_futures=True, wait=False)
            raise
    return [item for item, _ in asked]


def _texts(order: Order) -> Iterator[Text]:
    locked = order.lock
    yield from images.texts(locked)
    yield from models.texts(locked)
    yield from wheels.texts(locked)
    key = Key(openpgp.home())
    yield from repository.texts(locked, lambda blob: blobs.place(blob, order.cache), key)
    yield from toolkit.texts(locked, order.checkout)
    yield Text(LOCK, lockfile.as_text(locked).encode())
