"""Manifests of images: what stands in them.

Media types and members: the OCI image specification, and the forms of Docker that it came from.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apuhost.oci import RegistryError

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_INDEXES = frozenset({OCI_INDEX, DOCKER_LIST})
_MANIFESTS = frozenset({OCI_MANIFEST, DOCKER_MANIFEST})
ACCEPT = ", ".join((OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST))
CONFIGS = frozenset({
    "application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json",
})  # fmt: skip
"""What the configuration of a container image is; other artifacts have others."""

# buildx keeps what it says of an image beside the image, as a platform of its own.
_ATTESTATION = "vnd.docker.reference.type"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Descriptor:
    """One thing that a manifest names; `platform` is OS/ARCHITECTURE[/VARIANT] or ""."""

    media_type: str
    digest: str
    size: int
    platform: str = ""


@dataclass(frozen=True)
class Index:
    """A manifest for each platform, without those that only speak of another one."""

    media_type: str
    platforms: tuple[Descriptor, ...]


@dataclass(frozen=True)
class Manifest:
    """One image: its configuration, and its layers from the lowest."""

    media_type: str
    config: Descriptor
    layers: tuple[Descriptor, ...]


def read(content: bytes, media_type: str) -> Index | Manifest:
    """Read a registry's answer; what it says of itself counts before the header's media type.

    Raises:
        RegistryError: it is neither, or of a form that is not for us.
    """
    try:
        members = json.loads(content)
        kind = str(members.get("mediaType") or media_type.partition(";")[0].strip())
        if kind in _INDEXES:
            return Index(kind, tuple(_platforms(members["manifests"])))
        if kind in _MANIFESTS:
            layers = tuple(map(_descriptor, members["layers"]))
            return Manifest(kind, _descriptor(members["config"]), layers)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise RegistryError("it is no manifest") from None
    raise RegistryError(f"it is a manifest of the form {kind or '(none)'}, not of an image")


def digest_of(content: bytes) -> str:
    """How everything is named: by its bytes."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def platform(members: Mapping[str, Any]) -> str:
    """OS/ARCHITECTURE[/VARIANT] of an index's entry or of an image's configuration."""
    parts = (members.get(name) for name in ("os", "architecture", "variant"))
    return "/".join(str(part) for part in parts if part)


def _platforms(entries: Iterable[Mapping[str, Any]]) -> Iterator[Descriptor]:
    for entry in entries:
        found = _descriptor(entry)
        attests = _ATTESTATION in (entry.get("annotations") or {})
        if not attests and not found.platform.startswith("unknown/"):
            yield found


def _descriptor(members: Mapping[str, Any]) -> Descriptor:
    digest, size = members["digest"], members["size"]
    if not _DIGEST.fullmatch(digest) or type(size) is not int or size < 0:
        raise ValueError(digest)
    return Descriptor(
        str(members.get("mediaType", "")), digest, size, platform(members.get("platform") or {})
    )
