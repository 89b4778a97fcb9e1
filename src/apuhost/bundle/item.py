"""One file of a bundle: where it goes, what its bytes are, where they come from."""

from dataclasses import dataclass

from apuhost.errors import ApuhostError
from apuhost.lockfile import Blob


class BundleError(ApuhostError):
    """A bundle cannot be made, or is not what it says."""


@dataclass(frozen=True)
class Item:
    """A file that is fetched; `path` is relative to the bundle's folder, with slashes."""

    path: str
    file: Blob
    url: str


@dataclass(frozen=True)
class Text:
    """A file that a build writes by itself; its `path` is as an Item's."""

    path: str
    content: bytes
