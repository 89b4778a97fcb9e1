r"""The manifest: every file of a bundle by its path, size and hash; it is what gets signed.

Each file has a line of its own and no path needs quoting in JSON, so that a bare host can make
sha256sum's list of it with sed alone::

    sed -n 's/^  {"path": "\(.*\)", "sha256": "\(.*\)", "size.*/\2  \1/p' manifest.json
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from apuhost.bundle import paths
from apuhost.bundle.item import BundleError

FORMAT = 1
NAME = "manifest.json"
LOCK = "lock.json"
LICENCES = "licences.json"
SIGNATURE = f"{NAME}.sig"
OWN = (NAME, SIGNATURE)
MOST_FILES = 100_000
MOST_BYTES = 64 * 1024 * 1024
MOST_FILE_BYTES = 2**50


class ManifestError(BundleError):
    """A manifest that cannot be read, or that may not be."""


@dataclass(frozen=True)
class Entry:
    """A file: `path` relative to the bundle's folder, `size` in bytes, `sha256` in hex."""

    path: str
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0, le=MOST_FILE_BYTES)]


@dataclass(frozen=True)
class Manifest:
    """All files but the manifest itself and its signature, sorted by path; the rest is the lock's.

    `created` is RFC 3339 in UTC; `serial` grows with each lock.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    serial: Annotated[int, Field(ge=1)]
    created: str
    apuhost: str
    files: Annotated[tuple[Entry, ...], Field(max_length=MOST_FILES)]
    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)] = FORMAT

    @property
    def size(self) -> int:
        """All bytes of all files."""
        return sum(each.size for each in self.files)

    def entry(self, path: str) -> Entry | None:
        """The file at this path."""
        return next((each for each in self.files if each.path == path), None)


_MANIFEST = TypeAdapter(Manifest)


def entry(path: str, content: bytes) -> Entry:
    """The entry of a file that is at hand."""
    return Entry(path, hashlib.sha256(content).hexdigest(), len(content))


def made(serial: int, created: str, apuhost: str, files: Iterable[Entry]) -> Manifest:
    """The manifest of these files.

    Raises:
        ManifestError: too many of them, or paths that cannot be in one folder.
    """
    manifest = Manifest(serial, created, apuhost, tuple(sorted(files, key=_path)))
    _check(manifest)
    return manifest


def as_text(manifest: Manifest) -> str:
    """The file's text: the same manifest gives the same bytes."""
    told = {name: value for name, value in asdict(manifest).items() if name != "files"}
    head = json.dumps(told, indent=1, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(
        f"  {json.dumps(asdict(each), ensure_ascii=False)}" for each in manifest.files
    )
    return f'{head},\n "files": [\n{lines}\n ]\n}}\n'


def parse(content: bytes) -> Manifest:
    """Read the file's bytes.

    Raises:
        ManifestError: no manifest, another format, a field that is missing, unknown or wrong, a
            path that may not be, or not the very text that as_text writes.
    """
    try:
        manifest = _MANIFEST.validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ManifestError(f"{where}: {first['msg']}") from error
    _check(manifest)
    if as_text(manifest).encode() != content:
        raise ManifestError("the file: not written as apuhost writes it")
    return manifest


def _check(manifest: Manifest) -> None:
    """What the types do not say."""
    found = [each.path for each in manifest.files]
    if len(found) > MOST_FILES:
        raise ManifestError(f"files: {len(found)}, and no more than {MOST_FILES} may be")
    if found != sorted(found):
        raise ManifestError("files: not sorted by path")
    try:
        paths.check([*OWN, *found])
    except paths.PathError as error:
        raise ManifestError(f"files: {error}") from error


def _path(file: Entry) -> str:
    return file.path
