"""hosts.toml: what leads dockerd and containerd from a registry to a mirror that keeps many.

https://github.com/containerd/containerd/blob/main/docs/hosts.md has its keys.
"""

from collections.abc import Iterable

from apuhost import roles
from apuhost.lockfile import Image
from apuhost.oci import reference
from apuhost.oci.storage import namespace

FILE = "hosts.toml"
_FOLDER = "/etc/docker/certs.d"


def registries(images: Iterable[Image]) -> tuple[str, ...]:
    """The registries that the images come from, each once."""
    return tuple(sorted({reference.parse(each.reference).repository.host for each in images}))


def url(registry: str, mirror: str) -> str:
    """Where a mirror, as `192.0.2.2:5000`, has the repositories of a registry."""
    return f"https://{mirror}/v2/{namespace(registry)}"


def text(registry: str, mirror: str, certificate: str) -> str:
    """The file that leads from a registry to its mirror, and to nobody else.

    Args:
        registry: as images' names begin, `docker.io`.
        mirror: the mirror's registry, `192.0.2.2:5000`.
        certificate: the path of the mirror's CA certificate on the host that reads the file.
    """
    told = values(registry, mirror, certificate)
    return roles.render("mirror", f"{_FOLDER}/_default/{FILE}", told)


def values(registry: str, mirror: str, certificate: str) -> dict[str, object]:
    """The variables that its template may use."""
    return {"source_url": url(registry, mirror), "mirror_certificate": certificate}
