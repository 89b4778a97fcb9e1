"""Room that a bundle takes on a host, by the file systems that it goes to."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from apuhost.bundle import plain, sizes
from apuhost.bundle.manifest import MOST_BYTES
from apuhost.bundle.simulation import Simulated
from apuhost.bundle.verifying import Bundle
from apuhost.changes import ollama
from apuhost.derived import derive
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.lockfile import Deb, Lock, Target
from apuhost.probes.disk import Disk, Mount
from apuhost.settings import Settings
from apuhost.verdicts.refusals.ollama import IMAGE_BYTES, images_at, volumes_at

ARCHIVES = "/var/cache/apt/archives"
PROGRAMS = "/usr"
MIRROR = "/var/lib/apuhost/mirror"
_KIB = 1024
_FIELD = re.compile(r"^(Package|Version|Installed-Size): (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Need:
    """Bytes for something, in a folder."""

    what: str
    path: str
    size: int


def needs(
    bundle: Bundle, settings: Settings, facts: HostFacts, plan: Simulated
) -> tuple[Need, ...]:
    """What a deploy puts where; on the mirror's host the bundle, too."""
    return tuple(each for each in _needs(bundle, settings, facts, plan) if each.size)


def compared(needs: Iterable[Need], disk: Disk) -> tuple[list[str], list[str]]:
    """What is needed of each file system, and those that have less: a line each.

    Raises:
        Unreadable: the facts do not tell which file system holds a folder.
    """
    by_mount: dict[Mount, list[Need]] = {}
    for each in needs:
        mount = disk.under(each.path)
        if mount is None:
            raise Unreadable(f"which file system holds {each.path}")
        by_mount.setdefault(mount, []).append(each)
    return [_said(mount, found) for mount, found in by_mount.items()], [
        _said(mount, found)
        for mount, found in by_mount.items()
        if sum(each.size for each in found) > mount.available_bytes
    ]


def _said(mount: Mount, needs: Iterable[Need]) -> str:
    """`/: 7.1 GB needed (packages 0.6 GB, image 6.4 GB), 90.0 GB free`."""
    found = list(needs)
    total = sizes.shown(sum(each.size for each in found))
    parts = ", ".join(f"{each.what} {sizes.shown(each.size)}" for each in found)
    return f"{mount.path}: {total} needed ({parts}), {sizes.shown(mount.available_bytes)} free"


def debs_of(lock: Lock, plan: Simulated) -> tuple[Deb, ...]:
    """The packages of a lock that apt would take."""
    taken = {(each.name.partition(":")[0], each.after) for each in plan.installed}
    return tuple(deb for deb in lock.debs if (deb.name, deb.version) in taken)


def _needs(bundle: Bundle, settings: Settings, facts: HostFacts, plan: Simulated) -> Iterator[Need]:
    taken = debs_of(bundle.lock, plan)
    yield Need("downloads", ARCHIVES, sum(deb.file.size for deb in taken))
    yield Need("packages", PROGRAMS, _unpacked(bundle, taken))
    derived, applied = derive(settings, facts), settings.applied
    if "ollama" in applied and ollama.image(derived, facts):
        yield Need("image", images_at(derived, facts), IMAGE_BYTES)
    if "models" in applied:
        store = facts.model_store.directory or volumes_at(derived, facts)
        yield Need("models", store, _missing(bundle.lock, settings, facts))
    if settings.mirror.mirror_serve:
        yield Need("bundle", MIRROR, bundle.manifest.size)


def _missing(lock: Lock, settings: Settings, facts: HostFacts) -> int:
    """Bytes of the models' blobs that Ollama's store does not have yet."""
    names = {each.name for each in settings.models.models_list}
    wanted = {
        layer.digest.replace(":", "-", 1): layer.size
        for model in lock.models
        if model.name in names
        for layer in model.layers
    }
    return sum(size for name, size in wanted.items() if name not in facts.model_store.blobs)


def _unpacked(bundle: Bundle, debs: Iterable[Deb]) -> int:
    """What packages take once they are installed, by their own word."""
    sizes_of = _installed_sizes(bundle.folder, bundle.lock.target)
    return sum(sizes_of.get((deb.name, deb.version), 0) for deb in debs)


def _installed_sizes(folder: Path, target: Target) -> dict[tuple[str, str], int]:
    """By name and version, in bytes (deb-control(5) has KiB)."""
    path = f"apt/dists/{target.suite}/main/binary-{target.architecture}/Packages"
    text = plain.content(folder / path, MOST_BYTES).decode(errors="surrogateescape")
    found = {}
    for paragraph in text.split("\n\n"):
        fields = dict(_FIELD.findall(paragraph))
        size = int(fields.get("Installed-Size", 0)) * _KIB
        found[fields.get("Package", ""), fields.get("Version", "")] = size
    return found
