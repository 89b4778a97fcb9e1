"""What must not be made a mirror, and why."""

from collections.abc import Iterator, Mapping
from hashlib import sha256

from apuhost.changes import as_bytes, serving
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.mirror import LOCK
from apuhost.probes.mirror_serving import BUNDLES, FILES, REGISTRY
from apuhost.verdicts.refusals.room import MIB, lacking
from apuhost.verdicts.refusals.topic import Refusal

INSTALL = "apuhost bundle install BUNDLE INVENTORY --signers FILE"
PACKAGES_BYTES = 100 * MIB
"""docker-registry, nginx and openssl unpack to 30 MB on Debian 13."""


def _bundle(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """The bundle whose lock the site's hosts have is the one that is served."""
    lock = facts.mirror.lock
    if not derived.settings.mirror.mirror_serve:
        return
    if lock is None:
        yield f"it is to be the mirror, and has no bundle to serve: {INSTALL}"
        return
    kept = facts.mirror_serving.bundles.get(str(lock.serial))
    if kept is None:
        yield f"bundle {lock.serial} is not whole in {BUNDLES}: {INSTALL}"
    elif kept != sha256(as_bytes(facts.mirror.text(LOCK) or "")).hexdigest():
        yield f"{LOCK} is not that of the bundle {lock.serial} in {BUNDLES}: {INSTALL}"


def _packages(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """They come from the bundle, whatever else the mirror gives."""
    lock, missing = facts.mirror.lock, serving.packages(derived, facts)
    if lock is None or not missing:
        return
    target, release = lock.target, facts.os_release
    if (target.distribution, target.suite) != (release.family, release.codename):
        yield (
            f"{', '.join(missing)} would come from the bundle, which is for {target.distribution}/"
            f"{target.suite}, and it is {release.family}/{release.codename}: install them by hand"
        )
        return
    known = {deb.name for deb in lock.debs}
    if absent := [name for name in missing if name not in known]:
        yield (
            f"bundle {lock.serial} has no {', '.join(absent)}, by which it would serve: lock and "
            "build it anew from the inventory with mirror_serve"
        )


def _ports(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """Somebody else's registry, perhaps that of the same package; ours move one by one."""
    asked = derived.settings.mirror
    if not asked.mirror_serve:
        return
    ports = {
        "mirror_registry_port": (asked.mirror_registry_port, REGISTRY),
        "mirror_files_port": (asked.mirror_files_port, FILES),
    }
    held = {unit: _held(unit, facts) for _, unit in ports.values()}
    for key, (port, unit) in ports.items():
        if held[unit] == port or not _taken(port, derived, facts):
            continue
        if port in held.values():
            yield f"the mirror's other service still has port {port}: deploy another {key} first"
        else:
            yield f"something else listens on port {port}: end it, or set another {key}"


def _held(unit: str, facts: HostFacts) -> int | None:
    """The port of a service of ours that runs, by the file that it read."""
    found = facts.units.units.get(unit)
    if found is None or found.active_state != "active":
        return None
    return serving.port(unit, facts)


def _taken(port: int, derived: Derived, facts: HostFacts) -> bool:
    own = serving.listens(derived)
    everywhere = {"::", "0.0.0.0"}  # noqa: S104
    sharing = {own, *everywhere}
    return any(
        each.port == port and (each.address in sharing or own in everywhere)
        for each in facts.firewall.listening or ()
    )


def _room(derived: Derived, facts: HostFacts) -> Iterator[str]:
    due = serving.packages(derived, facts)
    yield from lacking("/", PACKAGES_BYTES if due else 0, facts)


SERVING: Mapping[str, Refusal] = {
    "bundle to serve": _bundle,
    "packages to serve by": _packages,
    "ports to serve at": _ports,
    "room for the mirror's packages": _room,
}
