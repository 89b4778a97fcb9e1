"""The lock: what a bundle holds, each thing by its hash; one file that a person can review.

The records are what the network said once. A build that meets anything else stops.
"""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from apuhost.errors import ApuhostError

FORMAT = 1


def _moment(text: str) -> str:
    """A day and a time that there are: 2026-02-30 has the form, too."""
    datetime.fromisoformat(text)
    return text


Reference = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][\w./:-]*@sha256:[0-9a-f]{64}$")]
PackageName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9+.-]*$")]
Version = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9+.:~-]*$")]
WheelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+!-]*\.whl$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._+~-]*$")]
Moment = Annotated[
    str,
    StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|\+00:00)$"),
    AfterValidator(_moment),
]
Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
# It becomes a path: no part of it begins with a dot, and there are at most three.
ModelName = Annotated[
    str, StringConstraints(pattern=r"^(\w[\w.-]*(:[0-9]+)?/)?(\w[\w-]*/)?\w[\w.-]*(:\w[\w.-]*)?$")
]


class LockError(ApuhostError):
    """A lock that cannot be read, or that does not fit what there is."""


@dataclass(frozen=True)
class Blob:
    """Bytes by their hash; `size` in bytes."""

    digest: Digest
    size: Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class Target:
    """The hosts that a bundle is for: `debian`, `trixie`, `amd64`, and their Python, as 3.13."""

    distribution: PackageName
    suite: PackageName
    architecture: PackageName
    python: str


@dataclass(frozen=True)
class Image:
    """A container image for one platform, as its registry gives it.

    Attributes:
        reference: as ollama_image: REGISTRY/REPOSITORY:TAG@sha256:HEX, what the digest pins first.
        media_type: of the pinned manifest.
        chain: the pinned manifest, and, where that is an index, the platform's manifest after it.
        config: the image's configuration.
        layers: from the lowest.
    """

    reference: Reference
    media_type: str
    chain: tuple[Blob, ...]
    config: Blob
    layers: tuple[Blob, ...]


@dataclass(frozen=True)
class Release:
    """A signed list of packages that debs came from; `inrelease` is the file with its signature."""

    uri: str
    suite: str
    components: tuple[str, ...]
    inrelease: Blob


@dataclass(frozen=True)
class Deb:
    """A Debian package; `url` is whole, `release` the digest of the InRelease that names it."""

    name: PackageName
    version: Version
    architecture: PackageName
    url: str
    file: Blob
    release: Digest


@dataclass(frozen=True)
class Model:
    """A model as its registry gives it; its name is as models_list has it.

    `layers` are all its blobs, the configuration after the others.
    """

    name: ModelName
    manifest: Blob
    layers: tuple[Blob, ...]


@dataclass(frozen=True)
class Wheel:
    """A Python package's built file, by its file name."""

    name: WheelName
    url: str
    file: Blob


@dataclass(frozen=True)
class File:
    """A further file, by the name that it has in the bundle."""

    name: FileName
    url: str
    file: Blob


@dataclass(frozen=True)
class Lock:
    """Everything, each kind sorted. `created` is RFC 3339 in UTC; `serial` grows with each lock."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    serial: Annotated[int, Field(ge=1)]
    created: Moment
    apuhost: str
    target: Target
    images: tuple[Image, ...] = ()
    releases: tuple[Release, ...] = ()
    debs: tuple[Deb, ...] = ()
    models: tuple[Model, ...] = ()
    wheels: tuple[Wheel, ...] = ()
    files: tuple[File, ...] = ()
    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)] = FORMAT


_LOCK = TypeAdapter(Lock)


def as_text(lock: Lock) -> str:
    """The file's text: the same lock gives the same bytes."""
    return json.dumps(asdict(lock), indent=1) + "\n"


def parse(text: str) -> Lock:
    """Read the file's text.

    Raises:
        LockError: no lock, another format, or a field that is missing, unknown or wrong: the first
            of them, with where it is.
    """
    try:
        return _LOCK.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise LockError(f"{where}: {first['msg']}") from error
