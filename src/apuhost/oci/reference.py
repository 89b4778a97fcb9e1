"""Names of images, spelled in full as Docker does (distribution/reference, normalize.go)."""

import re
from dataclasses import dataclass

from apuhost.oci import RegistryError

HUB = "docker.io"
_HUB_NAMES = frozenset({"index.docker.io", "registry-1.docker.io"})
_HUB_SERVER = "registry-1.docker.io"
_REPOSITORY = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?")
_TAG = re.compile(r"[A-Za-z0-9_][\w.-]{0,127}", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Repository:
    """Where a registry keeps a thing: `host` as names have it, with a port if any, and its path."""

    host: str
    path: str

    def url(self, kind: str, name: str) -> str:
        """Where one of its `manifests` or `blobs` is."""
        return f"https://{server(self.host)}/v2/{self.path}/{kind}/{name}"


@dataclass(frozen=True)
class Reference:
    """An image's name in full; `tag` and `digest` are "" where there is none."""

    repository: Repository
    tag: str
    digest: str

    @property
    def name(self) -> str:
        """REGISTRY/REPOSITORY:TAG, without the digest."""
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository.host}/{self.repository.path}{tag}"


def parse(text: str) -> Reference:
    """Read a name, short or in full.

    Raises:
        RegistryError: no name of an image.
    """
    name, at, digest = text.partition("@")
    path, colon, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "")
    repository = _repository(path)
    for part, form, given in ((tag, _TAG, colon), (digest, _DIGEST, at)):
        if given and not form.fullmatch(part):
            raise _wrong(text)
    if not _HOST.fullmatch(repository.host) or not _REPOSITORY.fullmatch(repository.path):
        raise _wrong(text)
    return Reference(repository, tag, digest)


def server(host: str) -> str:
    """The host that answers for a registry's name."""
    return _HUB_SERVER if host == HUB else host


def registry(host: str) -> str:
    """The registry that a host answers for."""
    return HUB if host in _HUB_NAMES else host


def _repository(path: str) -> Repository:
    first, slash, rest = path.partition("/")
    named = first == "localhost" or "." in first or ":" in first
    host, below = (registry(first), rest) if slash and named else (HUB, path)
    return Repository(host, f"library/{below}" if host == HUB and "/" not in below else below)


def _wrong(text: str) -> RegistryError:
    return RegistryError(f"{text}: no image's name: write REGISTRY/REPOSITORY:TAG@sha256:HEX")
