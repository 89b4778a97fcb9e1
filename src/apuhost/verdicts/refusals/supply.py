"""What a host must not be deployed to from a mirror: one that lacks what it would take from it."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from apuhost.changes import docker as docker_changes
from apuhost.changes import image, models, store, supply
from apuhost.changes import vulkan as vulkan_changes
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.lockfile import Lock
from apuhost.oci import reference
from apuhost.probes.mirror import APT_KEY, CERTIFICATE, LOCK
from apuhost.settings.models import PinnedModel
from apuhost.verdicts.refusals.topic import Refusal
from apuhost.verdicts.supply import PACKAGELESS

INSTALL = "apuhost bundle install BUNDLE INVENTORY --signers FILE"
ANEW = "lock and build the bundle anew, and install it"
SHOWN = 5


def _site_files(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """What the install of a bundle puts on every host."""
    mirror, settings = facts.mirror, derived.settings
    if mirror.damage:
        yield f"{mirror.damage}: {INSTALL}"
    keyed = settings.mirrored("apt") and not supply.without_packages(facts)
    wanted = (LOCK, CERTIFICATE, APT_KEY) if keyed else (LOCK, CERTIFICATE)
    missing = [path for path in wanted if mirror.text(path) is None]
    if missing:
        yield f"it does not know the mirror yet, {', '.join(missing)} is not there: {INSTALL}"


def _clock(_: Derived, facts: HostFacts) -> Iterator[str]:
    """TLS and apt take nothing from times to come, and say so at length."""
    lock = facts.mirror.lock
    if lock and facts.boot.now < _seconds(lock):
        shown = datetime.fromtimestamp(facts.boot.now).astimezone().isoformat(timespec="minutes")
        yield (
            f"its clock says {shown}, and the bundle was locked {lock.created}: set it "
            "(timedatectl set-time, hwclock --systohc)"
        )


def _seconds(lock: Lock) -> float:
    return datetime.fromisoformat(lock.created).timestamp()


def _target(derived: Derived, facts: HostFacts) -> Iterator[str]:
    lock, release = facts.mirror.lock, facts.os_release
    if lock is None or not derived.settings.mirrored("apt"):
        return
    target = f"{lock.target.distribution}/{lock.target.suite}"
    found = f"{release.family}/{release.codename}"
    if found != target:
        yield f"the bundle is for {target}, and it is {found}: {INSTALL} of one for {found}"


def _packages(derived: Derived, facts: HostFacts) -> Iterator[str]:
    lock = facts.mirror.lock
    if lock is None or not derived.settings.mirrored("apt"):
        return
    if supply.without_packages(facts):
        yield f"bundle {lock.serial} has no packages: {PACKAGELESS}"
        return
    known = {deb.name for deb in lock.debs}
    lacking = sorted({name for name in _due(derived, facts) if name not in known})
    if lacking:
        yield f"bundle {lock.serial} has no {_few(lacking)}: {ANEW}"


def _due(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """Packages that the host's roles would install now."""
    roles = derived.settings.host.host_roles
    if "vulkan" in roles:
        yield from vulkan_changes.packages(derived, facts)
        yield from vulkan_changes.firmware(derived, facts)
    if "docker" in roles:
        yield from docker_changes.packages(derived, facts)


def _image(derived: Derived, facts: HostFacts) -> Iterator[str]:
    lock, settings = facts.mirror.lock, derived.settings
    if lock is None or not settings.mirrored("images") or "ollama" not in settings.host.host_roles:
        return
    wanted = reference.parse(settings.ollama.ollama_image)
    known = [reference.parse(each.reference) for each in lock.images]
    same = (wanted.repository, wanted.digest)
    if same not in [(each.repository, each.digest) for each in known]:
        silent = docker_changes.comes_up(derived, facts)
        if silent or not image.here(derived, facts):
            yield f"bundle {lock.serial} has no {settings.ollama.ollama_image}: {ANEW}"


def _foreign(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """A hosts.toml of somebody else would lead dockerd elsewhere."""
    lock = facts.mirror.lock
    if lock is None or not derived.settings.mirrored("images"):
        return
    ours = frozenset(supply.led(lock).values())
    for path in sorted(ours.intersection(facts.mirror.foreign)):
        yield f"{path} is not apuhost's, and leads dockerd elsewhere: move it away"


def _models(derived: Derived, facts: HostFacts) -> Iterator[str]:
    lock, settings = facts.mirror.lock, derived.settings
    if lock is None or not settings.mirrored("models") or "models" not in settings.host.host_roles:
        return
    wanted = settings.models.models_list
    lacking = [
        each.name for each in wanted if not _has(each, facts) and _pulled(each, derived, facts)
    ]
    if lacking:
        yield f"bundle {lock.serial} has no {_few(lacking)} as models_list asks: {ANEW}"


def _has(model: PinnedModel, facts: HostFacts) -> bool:
    found = store.locked(model.name, facts)
    return found is not None and model.digest in ("", found.manifest.digest.partition(":")[2])


def _pulled(model: PinnedModel, derived: Derived, facts: HostFacts) -> bool:
    return docker_changes.comes_up(derived, facts) or bool(models.pull(model, facts))


def _few(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"{', '.join(found[:SHOWN])}{more}"


SUPPLY: Mapping[str, Refusal] = {
    "mirror": _site_files,
    "clock": _clock,
    "bundle's target": _target,
    "bundle's packages": _packages,
    "bundle's image": _image,
    "bundle's models": _models,
    "registries": _foreign,
}
