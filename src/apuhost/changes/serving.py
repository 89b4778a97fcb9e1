"""What a mirror's host serves: a bundle's images by a registry, its other files by nginx.

Nothing is copied: the registry's tree leads to the bundle's own files, nginx follows a link.
"""

import posixpath
import re
from hashlib import sha256

from apuhost import roles
from apuhost.changes import Action, FileChange, certificate, due, needed, owned
from apuhost.changes.units import not_enabled
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.lockfile import Lock
from apuhost.oci.storage import storage
from apuhost.probes.mirror_serving import (
    AUTHORITY,
    BUNDLES,
    CURRENT,
    FILES,
    FILES_CONF,
    REGISTRY,
    REGISTRY_CONF,
    TREES,
)

REGISTRY_UNIT = f"/etc/systemd/system/{REGISTRY}"
FILES_UNIT = f"/etc/systemd/system/{FILES}"
_OWN = {REGISTRY: (REGISTRY_CONF, REGISTRY_UNIT), FILES: (FILES_CONF, FILES_UNIT)}
_PORTS = {
    REGISTRY: (REGISTRY_CONF, re.compile(r"^  addr: [^:\n]+:([0-9]+)$", re.MULTILINE)),
    FILES: (FILES_CONF, re.compile(r"^ +listen [^:\n]+:([0-9]+) ssl;$", re.MULTILINE)),
}
SERVICES = ("docker-registry", "nginx")
"""Packages with a service of their own, of the same name."""

_MASKED = "masked, unless /etc/systemd/system has a unit of yours"
_LISTENS_AT_ONCE = "its package would start it, with nobody's settings"
UNPRIVILEGED_PORT = 1024
_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104  (a mirror that is told by its name)
_TREE_DIGITS = 16
_END = "end\n"


def files(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """Everything that is written, in its order."""
    parts = (files_configuration, registry_configuration, units)
    return tuple(change for part in parts for change in part(derived, facts))


def actions(derived: Derived, facts: HostFacts) -> tuple[Action, ...]:
    """What is done beside, in its order."""
    lock = facts.mirror.lock
    own = [name for name in packages(derived, facts) if name in SERVICES]
    return (
        *(Action(f"{name}.service", _MASKED, (_LISTENS_AT_ONCE,)) for name in own),
        *due("packages of the mirror", "installed from the bundle", packages(derived, facts)),
        *due(f"bundle {lock.serial if lock else ''}", "served", unserved(derived, facts)),
        *due("the mirror's certificate", "made", uncertified(derived, facts)),
        *due(REGISTRY, "enabled and started", unregistered(derived, facts)),
        *due(FILES, "enabled and started", unshared(derived, facts)),
    )


def notes(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Which ports to open, when they come or change."""
    asked = derived.settings.mirror
    if not (files_configuration(derived, facts) or registry_configuration(derived, facts)):
        return ()
    ports = f"{asked.mirror_registry_port} (images) and {asked.mirror_files_port} (files)"
    at = asked.mirror_address if asked.numeric else f"every address, {asked.mirror_address} too"
    return (f"the mirror listens at {at}: let the site's hosts reach its TCP ports {ports}",)


def packages(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """The packages that the host lacks to serve."""
    if not serves(derived):
        return ()
    return tuple(name for name in needed.MIRROR if name not in facts.packages.installed)


def unserved(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the registry's tree is made or the link of what is served moved."""
    lock = facts.mirror.lock
    if not serves(derived) or lock is None:
        return ()
    found, why = facts.mirror_serving, []
    if tree(lock) not in found.trees:
        why.append("its images are not in the registry")
    if found.current != served(lock):
        before = found.current.rpartition("/")[2]
        why.append(f"bundle {before} is" if before else "no bundle is")
    return tuple(why)


def uncertified(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the certificate is made."""
    return certificate.due(derived, facts) if serves(derived) else ()


def listing(lock: Lock) -> str:
    """Every file of the registry's tree, one a line, and a last line: what was cut is told.

    `data PATH TARGET` leads to a file of the bundle, `link PATH DIGEST` holds the digest.
    """
    found = storage(lock.images)
    data = (f"data {path} {_target(path, digest, lock)}\n" for path, digest in found.data)
    return "".join((*data, *(f"link {path} {digest}\n" for path, digest in found.links), _END))


def tree(lock: Lock) -> str:
    """The name of the tree's folder: another one for other files."""
    return sha256(listing(lock).encode()).hexdigest()[:_TREE_DIGITS]


def served(lock: Lock) -> str:
    """Where the link of what is served leads."""
    return f"{posixpath.basename(BUNDLES)}/{lock.serial}"


def outdated_trees(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Trees that no running registry reads: of other bundles, which may have gone."""
    lock = facts.mirror.lock
    if not serves(derived) or lock is None or unregistered(derived, facts):
        return ()
    return tuple(name for name in facts.mirror_serving.trees if name != tree(lock))


def registry_configuration(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """What the registry reads: where it listens, and which tree it gives."""
    return _written(REGISTRY_CONF, facts.mirror.text(REGISTRY_CONF), derived, facts)


def files_configuration(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """What nginx reads."""
    return _written(FILES_CONF, facts.mirror.text(FILES_CONF), derived, facts)


def units(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """Both units: what they run never listens where its package would."""
    return tuple(
        change
        for path in (FILES_UNIT, REGISTRY_UNIT)
        for change in _written(path, facts.units.text(path), derived, facts)
    )


def unregistered(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the registry is started anew."""
    return _unstarted(REGISTRY, derived, facts)


def unshared(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why nginx is started anew."""
    return _unstarted(FILES, derived, facts)


def _unstarted(name: str, derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    if not serves(derived) or facts.mirror.lock is None:
        return ()
    due_files = files(derived, facts)
    changing = tuple(f"{each.path} changes" for each in due_files if each.path in _OWN[name])
    made = tuple("its certificate is made" for _ in uncertified(derived, facts)[:1])
    newer = tuple(f"{path} is newer" for path in facts.mirror_serving.newer.get(name, ()))
    return (*changing, *made, *newer) or not_enabled(name, facts)


def _written(
    path: str, before: str | None, derived: Derived, facts: HostFacts
) -> tuple[FileChange, ...]:
    if not serves(derived) or facts.mirror.lock is None:
        return ()
    return owned(path, before, roles.render("mirror", path, values(derived, facts.mirror.lock)))


def serves(derived: Derived) -> bool:
    """Whether the host is asked to."""
    return derived.settings.mirror.mirror_serve


def _target(path: str, digest: str, lock: Lock) -> str:
    """A blob of the bundle, from where it lies in a tree: the same on whichever disk they are."""
    blob = f"{BUNDLES}/{lock.serial}/images/blobs/{digest.replace(':', '/', 1)}"
    return posixpath.relpath(blob, posixpath.dirname(f"{TREES}/tree/{path}"))


def values(derived: Derived, lock: Lock) -> dict[str, object]:
    """The variables that roles/mirror/templates may use, but for those of its clients."""
    asked = derived.settings.mirror
    ports = (asked.mirror_registry_port, asked.mirror_files_port)
    return {
        "mirror_address": asked.mirror_address,
        "mirror_listen": listens(derived),
        "mirror_registry_port": asked.mirror_registry_port,
        "mirror_files_port": asked.mirror_files_port,
        "mirror_downloads": asked.mirror_downloads,
        "mirror_tree": f"{TREES}/{tree(lock)}",
        "mirror_current": CURRENT,
        "mirror_authority": AUTHORITY,
        "mirror_privileged": min(ports) < UNPRIVILEGED_PORT,
    }


def answers(unit: str, derived: Derived) -> tuple[str, ...]:
    """Port and address of a unit on its host, and what its certificate must be for."""
    asked, address = derived.settings.mirror, listens(derived)
    ports = {REGISTRY: asked.mirror_registry_port, FILES: asked.mirror_files_port}
    here = "127.0.0.1" if address == _EVERY_ADDRESS else address
    kind = "-verify_ip" if asked.numeric else "-verify_hostname"
    return (str(ports[unit]), here, kind, asked.mirror_address)


def port(unit: str, facts: HostFacts) -> int | None:
    """The port that a unit's file, as it is on the host, names; None where it names none."""
    path, pattern = _PORTS[unit]
    found = pattern.search(facts.mirror.text(path) or "")
    return int(found[1]) if found else None


def listens(derived: Derived) -> str:
    """The address at which both listen: the mirror's, or every one where that is a name."""
    asked = derived.settings.mirror
    return asked.mirror_address if asked.numeric else _EVERY_ADDRESS
