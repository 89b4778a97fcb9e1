"""Which packages the roles need on a distribution, whatever a host has of them already.

A deploy installs what a host lacks of these; a bundle brings all of them along.
"""

from collections.abc import Iterator

from apuhost.changes import docker_ce
from apuhost.settings import Settings

FIRMWARE = {"debian": "firmware-amd-graphics", "ubuntu": "linux-firmware"}
"""What holds amdgpu's firmware, by the family of distributions."""

DOCKER = {
    "debian": ("docker.io", "docker-cli", "docker-compose"),
    "ubuntu": ("docker.io", "docker-compose-v2"),
}
"""By name: trixie's docker.io only recommends docker-cli, and then there is no `docker` at all."""

CERTIFICATES = "ca-certificates"
"""Brings update-ca-certificates, by which a host trusts its site's own certificates."""

KEY_READER = "gpg"
"""Tells the fingerprint of the key that signs Docker's own packages."""

MIRROR = ("docker-registry", "nginx", "openssl")
"""What serves a bundle, and makes the certificate for it."""

CONTROLLER = ("git", "make", "openssh-client", "python3-venv")
"""What the machine that runs apuhost needs."""


def engine(source: str, family: str) -> tuple[str, ...]:
    """Docker's packages, of the distribution (`distro`) or Docker's own (`docker-ce`)."""
    return docker_ce.PACKAGES if source == "docker-ce" else DOCKER[family]


def on_bare_host(settings: Settings, family: str) -> tuple[str, ...]:
    """Every package that a deploy may install where nothing of it is there yet, sorted."""
    roles = settings.applied
    found: set[str] = set(MIRROR) if settings.mirror.mirror_serve and "mirror" in roles else set()
    if "vulkan" in roles:
        found |= {*settings.vulkan.vulkan_packages, FIRMWARE[family]}
    if "docker" in roles:
        found |= set(_docker(settings, family))
    return tuple(sorted(found))


def _docker(settings: Settings, family: str) -> Iterator[str]:
    source = settings.docker.docker_source
    yield from engine(source, family)
    yield CERTIFICATES
    if source == "docker-ce":
        yield KEY_READER
