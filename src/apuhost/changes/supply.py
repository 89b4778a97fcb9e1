"""Where a host of a site with a mirror takes things from: what leads apt and Docker there.

Both read their files anew each time: nothing is restarted for them.
"""

from collections.abc import Iterator

from apuhost import roles
from apuhost.changes import FileChange
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.lockfile import Lock
from apuhost.oci import hosts_toml
from apuhost.probes.mirror import APT_KEY, CERTIFICATE, CERTIFICATES, NEWEST, SOURCE

APT_CONF = "/etc/apt/apt.conf.d/zz-apuhost-mirror"


def files(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The files that lead apt and Docker to the mirror; those of a part that it does not give go.

    Without the lock, which a refusal asks for, none is known.
    """
    return (*of_apt(derived, facts), *of_docker(derived, facts))


def newest(_: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The highest serial that this host was deployed from: what is older is told as such."""
    lock = facts.mirror.lock
    if lock is None or lock.serial <= (facts.mirror.newest or 0):
        return ()
    return _changed(NEWEST, facts.mirror.text(NEWEST), f"{lock.serial}\n")


def led(lock: Lock) -> dict[str, str]:
    """By the registries of the lock's images, the file that leads dockerd from it to the mirror."""
    found = hosts_toml.registries(lock.images)
    return {each: f"{CERTIFICATES}/{each}/{hosts_toml.FILE}" for each in found}


def without_packages(facts: HostFacts) -> bool:
    """Whether the bundle has no repository, and so no key of it."""
    return facts.mirror.lock is not None and not facts.mirror.lock.debs


def of_apt(derived: Derived, facts: HostFacts) -> Iterator[FileChange]:
    """Its source of packages, and the mirror's certificate."""
    lock = facts.mirror.lock
    if lock is None:
        return
    told = values(lock, derived)
    given = derived.settings.mirrored("apt")
    source = roles.render("mirror", SOURCE, told) if given else ""
    before = next((each.text for each in facts.apt_sources.files if each.path == SOURCE), None)
    yield from _changed(SOURCE, before, source)
    # Whatever it gives: the models, too, come through apt's downloader.
    conf = roles.render("mirror", APT_CONF, told)
    yield from _changed(APT_CONF, facts.units.text(APT_CONF), conf)


def of_docker(derived: Derived, facts: HostFacts) -> Iterator[FileChange]:
    """The registry's certificate, and what leads other registries' images to it."""
    lock = facts.mirror.lock
    if lock is None:
        return
    wanted = _docker_files(lock, derived, facts)
    for path, text in wanted.items():
        yield from _changed(path, facts.mirror.text(path), text)
    for file in facts.mirror.files:
        if file.path.endswith(f"/{hosts_toml.FILE}") and file.path not in wanted:
            yield from _changed(file.path, file.text, "")


def _docker_files(lock: Lock, derived: Derived, facts: HostFacts) -> dict[str, str]:
    certificate = facts.mirror.text(CERTIFICATE)
    if not derived.settings.mirrored("images") or certificate is None:
        return {}
    mirror = derived.settings.mirror.registry
    files = {path: hosts_toml.text(each, mirror, CERTIFICATE) for each, path in led(lock).items()}
    return {f"{CERTIFICATES}/{mirror}/ca.crt": certificate, **files}


def values(lock: Lock, derived: Derived) -> dict[str, object]:
    """The variables of the templates of apt's files."""
    asked = derived.settings.mirror
    return {
        "mirror_address": asked.mirror_address,
        "mirror_url": asked.files,
        "mirror_suite": lock.target.suite,
        "mirror_certificate": CERTIFICATE,
        "mirror_apt_key": APT_KEY,
    }


def _changed(path: str, before: str | None, after: str) -> tuple[FileChange, ...]:
    if (before or "") == after:
        return ()
    why = "emptied: the mirror gives none" if not after else "new" if before is None else "changed"
    return (FileChange(path, before, after, why, operators=False),)
