"""Docker's own packages, where `docker_source: docker-ce` asks for them."""

from collections.abc import Iterator

from apuhost import roles
from apuhost.changes import FileChange, owned
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable

PACKAGES = ("docker-ce", "docker-ce-cli", "containerd.io", "docker-compose-plugin")
SOURCE = "/etc/apt/sources.list.d/apuhost-docker.sources"
KEYRING = "/etc/apt/keyrings/apuhost-docker.asc"

FINGERPRINT = "9DC858229FC7DD38854AE2D88D81803C0EBFCD88"
"""Of the key that signs Docker's packages (Docker's manual, "Install using the apt repository")."""

CONFLICTS = (
    "docker.io", "docker-cli", "docker-compose", "docker-compose-v2", "docker-doc",
    "podman-docker", "containerd", "runc",
)  # fmt: skip
"""Packages that Docker's own cannot stand beside (the same page, "Uninstall old versions")."""


def wanted(derived: Derived) -> bool:
    """Whether Docker's own packages are asked for."""
    return derived.settings.docker.docker_source == "docker-ce"


def repository(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """Docker's package source: new, unless somebody else's is here, or gone with its key."""
    if derived.settings.mirrored("apt"):
        return ()  # its packages come from the mirror
    if not wanted(derived):
        return tuple(_left_over(facts))
    before = _text(SOURCE, facts)
    if before is None and _known(facts):
        return ()
    return owned(SOURCE, before, roles.render("docker", SOURCE, values(facts)))


def key(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why Docker's key is fetched, before our source: apt takes nothing from that without it."""
    if derived.settings.mirrored("apt"):
        return ()
    ours = _text(SOURCE, facts) is not None or bool(repository(derived, facts))
    due = wanted(derived) and ours and _text(KEYRING, facts) is None
    return (f"{KEYRING} is not there",) if due else ()


def there(facts: HostFacts) -> frozenset[str]:
    """Packages that are installed, or that dpkg left half-way."""
    return frozenset((*facts.packages.installed, *facts.packages.broken))


def values(facts: HostFacts) -> dict[str, object]:
    """The variables of the package source's template.

    Raises:
        Unreadable: the distribution's release has no name.
    """
    release = facts.os_release
    if not release.codename:
        raise Unreadable("os_release: it names no VERSION_CODENAME, by which Docker's packages go")
    return {"docker_distribution": release.family, "docker_suite": release.codename}


def conflicting(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Packages that go for Docker's own: containers stop until it is there, their data stay."""
    missing = any(name not in facts.packages.installed for name in PACKAGES)
    going = missing and wanted(derived)
    return tuple(name for name in CONFLICTS if going and name in there(facts))


def _known(facts: HostFacts) -> bool:
    return any(
        source.enabled and any("download.docker.com" in uri for uri in source.uris)
        for source in facts.apt_sources.sources
    )


def _left_over(facts: HostFacts) -> Iterator[FileChange]:
    """Our source and its key, where the engine is of another; what another source names stays."""
    if "docker-ce" in there(facts):
        return
    named = any(
        source.signed_by == KEYRING and source.path != SOURCE
        for source in facts.apt_sources.sources
    )
    for path in (SOURCE,) if named else (SOURCE, KEYRING):
        if (text := _text(path, facts)) is not None:
            yield FileChange(path, text, "", "emptied: docker-ce is not asked for", operators=False)


def _text(path: str, facts: HostFacts) -> str | None:
    return next((file.text for file in facts.apt_sources.files if file.path == path), None)
