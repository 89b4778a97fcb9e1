"""A lock made: everything that an inventory's hosts need, as the network tells it today."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from apuhost import web
from apuhost.bundle import debs, images, models, sources, toolkit, wheels
from apuhost.bundle.item import BundleError
from apuhost.changes import needed
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
        sources: the target's package sources (deb822); "" for Debian's own.
    """

    settings: tuple[Settings, ...]
    target: Target
    checkout: Path
    cache: Path
    sources: str = ""


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
    version = toolkit.version(asked.checkout)  # first: a dirty checkout is refused at once
    known = credentials.read()
    pinned = chain.from_iterable(each.models.models_list for each in asked.settings)
    with (
        Registries(known) as registries,
        Registries(known, models.ACCEPT) as model_registries,
        web.client() as client,
    ):
        found_images = images.resolve(_references(asked.settings), asked.target, registries)
        found_models = models.resolve(pinned, model_registries)
        requirements = asked.checkout / REQUIREMENTS
        found_wheels = wheels.resolve(asked.target, requirements, asked.cache, web.getter(client))
    text = asked.sources or sources.of_target(asked.target)
    releases, found_debs = debs.resolve(asked.target, _packages(asked), text, asked.cache)
    return Lock(
        serial=serial,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        apuhost=version,
        target=asked.target,
        images=found_images,
        releases=releases,
        debs=found_debs,
        models=found_models,
        wheels=found_wheels,
    )


def _references(settings: Iterable[Settings]) -> list[str]:
    asked = (each for each in settings if "ollama" in each.host.host_roles)
    return sorted({each.ollama.ollama_image for each in asked})


def _packages(asked: Asked) -> list[str]:
    """Of every host, and of the machine that runs apuhost there."""
    family = asked.target.distribution
    of_hosts = (needed.on_bare_host(each, family) for each in asked.settings)
    return sorted({*chain.from_iterable(of_hosts), *needed.CONTROLLER})
