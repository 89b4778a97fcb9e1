"""Where a host of a site with a mirror takes things from: what leads apt and Docker there.

Both read their files anew each time: nothing is restarted for them.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from apuhost import roles
from apuhost.changes import FileChange, owned
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.lockfile import Lock
from apuhost.oci import hosts_toml
from apuhost.probes.mirror import (
    APT_KEY,
    CERTIFICATE,
    CERTIFICATES,
    FOLDER,
    NEWEST,
    OURS,
    SOURCE,
)

APT_CONF = "/etc/apt/apt.conf.d/zz-apuhost-mirror"
_OURS_TO_APT = OURS.replace("#", "//")
_GONE = "emptied: nothing of it is asked for"
_CERTIFICATE_OF = re.compile(rf"{CERTIFICATES}/([^/]+)/ca\.crt")
_LED_TO = re.compile(r'^server = "https://([^/"]+)/v2/', re.MULTILINE)


def files(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The files that lead apt and Docker to the mirror; those of a part that it does not give go.

    So do those of another mirror, and all of them where none is asked for. Without the lock, which
    a refusal asks for, none is known.
    """
    return (*of_apt(derived, facts), *of_docker(derived, facts))


def leaving(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The same where no mirror is asked for: what one left goes."""
    return () if _asked(derived) else files(derived, facts)


def notes(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """What stays when a host leaves its mirror."""
    if not leaving(derived, facts):
        return ()
    return (f"{FOLDER} stays: by it an older bundle is told, should the host have a mirror again",)


def newest(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The highest serial that this host was deployed from: what is older is told as such."""
    lock = facts.mirror.lock
    if not _asked(derived) or lock is None or lock.serial <= (facts.mirror.newest or 0):
        return ()
    return owned(NEWEST, facts.mirror.text(NEWEST), f"{lock.serial}\n")


def led(lock: Lock) -> dict[str, str]:
    """By the registries of the lock's images, the file that leads dockerd from it to the mirror."""
    found = hosts_toml.registries(lock.images)
    return {each: f"{CERTIFICATES}/{each}/{hosts_toml.FILE}" for each in found}


def without_packages(facts: HostFacts) -> bool:
    """Whether the bundle has no repository, and so no key of it."""
    return facts.mirror.lock is not None and not facts.mirror.lock.debs


def of_apt(derived: Derived, facts: HostFacts) -> Iterator[FileChange]:
    """Its source of packages, and the mirror's certificate."""
    found = {each.path: each.text for each in facts.apt_sources.files if each.path == SOURCE}
    conf = facts.units.text(APT_CONF)
    found |= {} if conf is None else {APT_CONF: conf}
    ours = {path for path, text in found.items() if text.startswith((OURS, _OURS_TO_APT))}
    yield from _due(_apt_files(derived, facts), found, ours)


def of_docker(derived: Derived, facts: HostFacts) -> Iterator[FileChange]:
    """The registry's certificate, and what leads other registries' images to it."""
    found = {each.path: each.text for each in facts.mirror.files}
    yield from _due(_docker_files(derived, facts), found, _ours(facts))


def _due(
    wanted: Mapping[str, str] | None, found: Mapping[str, str], ours: Collection[str]
) -> Iterator[FileChange]:
    """What comes or changes, after what goes: what was ours, and is asked for no more."""
    if wanted is None:
        return
    for path in ours:
        if path not in wanted:
            yield FileChange(path, found[path], "", _GONE, operators=False)
    for path, text in wanted.items():
        yield from owned(path, found.get(path), text)


def _ours(facts: HostFacts) -> tuple[str, ...]:
    """What we wrote for dockerd: of a registry's certificates those of mirrors of ours.

    The CA that is known here may be another mirror's by now; then our files that lead to the
    registry tell.
    """
    known, led_to = facts.mirror.text(CERTIFICATE), set()
    toml = [each for each in facts.mirror.files if each.path.endswith(f"/{hosts_toml.FILE}")]
    for each in toml:
        led_to.update(_LED_TO.findall(each.text))
    certificates = (
        each.path
        for each in facts.mirror.files
        if (registry := _CERTIFICATE_OF.fullmatch(each.path))
        and (each.text == known or registry[1] in led_to)
    )
    return (*certificates, *(each.path for each in toml))


def _asked(derived: Derived) -> bool:
    return bool(derived.settings.mirror.mirror_address)


def _apt_files(derived: Derived, facts: HostFacts) -> dict[str, str] | None:
    """None: they are not known. Whatever it gives: the models, too, come by apt's downloader."""
    lock = facts.mirror.lock
    if not _asked(derived) or lock is None:
        return None if _asked(derived) else {}
    paths = (SOURCE, APT_CONF) if derived.settings.mirrored("apt") else (APT_CONF,)
    told = values(lock, derived)
    return {path: roles.render("mirror", path, told) for path in paths}


def _docker_files(derived: Derived, facts: HostFacts) -> dict[str, str] | None:
    lock, certificate = facts.mirror.lock, facts.mirror.text(CERTIFICATE)
    if not _asked(derived) or lock is None:
        return None if _asked(derived) else {}
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
