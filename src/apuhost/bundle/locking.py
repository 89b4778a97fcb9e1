"""A lock made: everything that an inventory's hosts need, as the network tells it today."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

from apuhost import web
from apuhost.bundle import debs, files, images, models, sources, toolkit, wants, wheels
from apuhost.bundle.item import BundleError
from apuhost.bundle.sources import Sources
from apuhost.lockfile import Lock, Target
from apuhost.oci import credentials
from apuhost.oci.registry import Registries
from apuhost.settings import Settings

REQUIREMENTS = "requirements.lock"

PYTHONS = {
    ("debian", "bookworm"): "3.11",
    ("debian", "trixie"): "3.13",
    ("ubuntu", "noble"): "3.12",
}
"""The Python of each suite, which the toolkit's wheels are for."""


@dataclass(frozen=True)
class Asked:
    """Whose needs are locked, and with what.

    Attributes:
        settings: of every host.
        target: what they run.
        checkout: apuhost's own, which goes along.
        cache: where what was read once is kept.
        sources: the target's package sources.
    """

    settings: tuple[Settings, ...]
    target: Target
    checkout: Path
    cache: Path
    sources: Sources = field(default_factory=Sources)


def target(text: str) -> Target:
    """The target that DISTRIBUTION/SUITE means.

    Raises:
        BundleError: none that apuhost knows.
    """
    distribution, _, suite = text.partition("/")
    python = PYTHONS.get((distribution, suite))
    if python is None:
        known = ", ".join("/".join(each) for each in PYTHONS)
        raise BundleError(f"--target {text}: not one of {known}")
    return Target(distribution, suite, "amd64", python)


def made(asked: Asked, serial: int) -> Lock:
    """Ask everybody who has a part of it.

    Raises:
        ApuhostError: something cannot be had, or is not what the inventory pins.
    """
    begun = Lock(serial, _now(), toolkit.version(asked.checkout), asked.target)
    return _asked(asked, begun, KINDS)


def updated(asked: Asked, before: Lock, kinds: Iterable[str]) -> Lock:
    """The same lock, of which only these kinds are asked for anew.

    Raises:
        ApuhostError: as for made; or what stays is not what the inventory asks for.
    """
    chosen = tuple(kinds)
    if unknown := [kind for kind in chosen if kind not in KINDS]:
        raise BundleError(f"--update {unknown[0]}: not one of {', '.join(KINDS)}")
    for lack in wants.lacking(asked.settings, before):
        if lack.kind not in chosen:
            raise BundleError(f"the lock has no {lack.what}: --update {lack.kind}, too")
    return _asked(asked, replace(before, serial=before.serial + 1, created=_now()), chosen)


def _asked(asked: Asked, lock: Lock, kinds: Iterable[str]) -> Lock:
    return reduce(lambda found, kind: _ASKING[kind](asked, found), kinds, lock)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _wheels(asked: Asked, lock: Lock) -> Lock:
    """With the toolkit that they are for; first, since a dirty checkout is refused at once."""
    version, requirements = toolkit.version(asked.checkout), asked.checkout / REQUIREMENTS
    with web.client() as client:
        found = wheels.resolve(asked.target, requirements, asked.cache, web.getter(client))
    return replace(lock, apuhost=version, wheels=found)


def _images(asked: Asked, lock: Lock) -> Lock:
    with Registries(credentials.read()) as registries:
        found = images.resolve(wants.images(asked.settings), asked.target, registries)
    return replace(lock, images=found)


def _models(asked: Asked, lock: Lock) -> Lock:
    with Registries(credentials.read(), models.ACCEPT) as registries:
        found = models.resolve(wants.models(asked.settings), registries)
    return replace(lock, models=found)


def _debs(asked: Asked, lock: Lock) -> Lock:
    names = wants.packages(asked.settings, asked.target.distribution)
    text = asked.sources.text or sources.of_target(asked.target)
    given = replace(asked.sources, text=text)
    releases, found = debs.resolve(asked.target, names, given, asked.cache)
    return replace(lock, releases=releases, debs=found)


def _files(asked: Asked, lock: Lock) -> Lock:
    with web.client() as client:
        return replace(lock, files=files.resolve(wants.files(asked.settings), web.getter(client)))


_ASKING: Mapping[str, Callable[[Asked, Lock], Lock]] = {
    "wheels": _wheels,
    "images": _images,
    "models": _models,
    "debs": _debs,
    "files": _files,
}
KINDS = tuple(_ASKING)
"""What a lock holds, in the order of asking."""
