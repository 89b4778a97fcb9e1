"""Ollama's image: the name by which Docker asks for it, which a mirror may change.

dockerd reads hosts.toml since 28.0, with containerd's store alone, and then takes every image of a
registry from its mirror under its own name. Any other asks the registry that the name begins with:
26.1 goes outside with either store, whatever hosts.toml says (both tried).
"""

import re
from collections.abc import Iterator

from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.oci import reference as names
from apuhost.oci.reference import HUB, Reference
from apuhost.oci.storage import namespaced
from apuhost.probes.containers import Image

LEAST_LED = 28
"""The first major version of dockerd that reads hosts.toml (moby's daemon/hosts.go)."""


def reference(derived: Derived, facts: HostFacts) -> str:
    """The image as Docker is asked for it, and as the compose file names it.

    Raises:
        Unreadable: a mirror gives it, and an engine that is here does not tell what it is.
    """
    asked = derived.settings.ollama.ollama_image
    if not derived.settings.mirrored("images") or led(facts):
        return asked
    return at_mirror(names.parse(asked), derived.settings.mirror.registry)


def at_mirror(image: Reference, registry: str) -> str:
    """An image's name in a registry that keeps those of many."""
    tag = f":{image.tag}" if image.tag else ""
    return f"{registry}/{namespaced(image.repository)}{tag}@{image.digest}"


def led(facts: HostFacts) -> bool:
    """Whether dockerd takes images from a mirror by what hosts.toml says.

    Raises:
        Unreadable: an engine that is here does not tell.
    """
    engine = facts.docker
    if engine.installed and engine.server is None:
        raise Unreadable(f"docker does not tell how it stores images: {engine.error}")
    major = re.match(r"[0-9]+", engine.server or "")
    return engine.containerd_store and major is not None and int(major[0]) >= LEAST_LED


def here(derived: Derived, facts: HostFacts) -> bool:
    """Whether the pinned image is here; of a mirror by its very name, since no other is found."""
    digest = derived.settings.ollama.digest
    found = [each for each in facts.containers.images.values() if has_digest(each, digest)]
    if not derived.settings.mirrored("images"):
        return bool(found)
    wanted = _told(reference(derived, facts))
    return any(wanted in each.repo_digests for each in found)


def has_digest(image: Image, digest: str) -> bool:
    """Whether an image is the pinned one: by its own id only in containerd's store."""
    return digest == image.id or any(each.endswith(f"@{digest}") for each in image.repo_digests)


def notes(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """By which name Docker asks the mirror, and why."""
    if not derived.settings.mirrored("images"):
        return
    engine = facts.docker
    if not engine.server:
        yield "by which name Docker asks the mirror is known when Docker runs"
    elif led(facts):
        yield f"docker {engine.server} with containerd's store takes the image from the mirror"
    else:
        store = "containerd's store" if engine.containerd_store else "its own store"
        yield f"docker {engine.server} with {store} takes the image by the mirror's name"


def _told(name: str) -> str:
    """The name as Docker tells it of an image that it has: short, without its tag."""
    found = names.parse(name)
    place = found.repository
    told = (
        place.path.removeprefix("library/") if place.host == HUB else f"{place.host}/{place.path}"
    )
    return f"{told}@{found.digest}"
