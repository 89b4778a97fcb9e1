"""Docker's own packages, where `docker_source: docker-ce` asks for them."""

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
    """Docker's package source, unless the host has one from somebody else already."""
    before = next((file.text for file in facts.apt_sources.files if file.path == SOURCE), None)
    if not wanted(derived) or (before is None and _known(facts)):
        return ()
    return owned(SOURCE, before, roles.render("docker", SOURCE, values(facts)))


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
    installed = facts.packages.installed
    missing = any(name not in installed for name in PACKAGES)
    return tuple(name for name in CONFLICTS if wanted(derived) and missing and name in installed)


def _known(facts: HostFacts) -> bool:
    return any(
        source.enabled and any("download.docker.com" in uri for uri in source.uris)
        for source in facts.apt_sources.sources
    )
