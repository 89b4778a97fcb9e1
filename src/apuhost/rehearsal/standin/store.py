"""The model store on disk: manifests, blobs, and what is removed when nothing needs it.

facts/ollama.md sections 5.1 and 5.5. Manifest bytes are kept exactly as pulled; a model's
digest is the sha256 of that file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import names
from .names import Name

MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG_TYPE = "application/vnd.docker.container.image.v1+json"
LAYER_TYPE = "application/vnd.ollama.image."
_DIGEST = re.compile(r"sha256[:-][0-9a-fA-F]{64}")
_UNTOUCHED_SECONDS = 3600  # younger blobs are never pruned: they may belong to a copy under way


class InvalidDigestError(ValueError):
    """A digest that is no sha256."""

    def __init__(self) -> None:
        super().__init__("invalid digest format")


@dataclass(frozen=True)
class Layer:
    """One entry of a manifest; `origin` is the model that it was taken from."""

    media_type: str
    digest: str
    size: int
    origin: str = ""

    @property
    def kind(self) -> str:
        """`model`, `projector`, `params` and so on."""
        return self.media_type.removeprefix(LAYER_TYPE)

    def as_json(self) -> dict[str, object]:
        """As it stands in a manifest."""
        entry = {"mediaType": self.media_type, "digest": self.digest, "size": self.size}
        return entry | ({"from": self.origin} if self.origin else {})


@dataclass(frozen=True)
class Manifest:
    """A model's list of blobs, with what its file says beside it."""

    config: Layer
    layers: tuple[Layer, ...]
    digest: str = ""
    modified: float = 0.0

    @property
    def size(self) -> int:
        """Bytes of all layers and the configuration."""
        return sum(layer.size for layer in self.blobs)

    @property
    def blobs(self) -> tuple[Layer, ...]:
        """Layers, then the configuration: the order in which a pull goes."""
        return (*self.layers, self.config) if self.config.digest else self.layers

    def of_kind(self, kind: str) -> list[Layer]:
        """The layers of one type."""
        return [layer for layer in self.layers if layer.kind == kind]


def parse(data: bytes, modified: float = 0.0) -> Manifest:
    """A manifest's bytes.

    Raises:
        ValueError: they are no manifest.
    """
    parsed = json.loads(data)
    if not isinstance(parsed, dict):
        raise ValueError("json: cannot unmarshal into Go value of type manifest.Manifest")  # noqa: TRY004
    layers = tuple(_layer(entry) for entry in parsed.get("layers") or ())
    digest = hashlib.sha256(data).hexdigest()
    return Manifest(_layer(parsed.get("config") or {}), layers, digest, modified)


def _layer(entry: Mapping[str, object]) -> Layer:
    size = entry.get("size", 0)
    return Layer(
        str(entry.get("mediaType", "")), str(entry.get("digest", "")),
        size if isinstance(size, int) else 0, str(entry.get("from") or ""),
    )  # fmt: skip


def packed(config: Layer, layers: Sequence[Layer]) -> bytes:
    """A manifest's bytes as Ollama itself writes them: compact, with a newline."""
    document = {
        "schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config.as_json(),
        "layers": [layer.as_json() for layer in layers],
    }  # fmt: skip
    return f"{json.dumps(document, separators=(',', ':'))}\n".encode()


@dataclass(frozen=True)
class Store:
    """The folder that OLLAMA_MODELS names."""

    root: Path

    @property
    def manifests_folder(self) -> Path:
        """Made when it is missing."""
        return _made(self.root / "manifests")

    @property
    def blobs_folder(self) -> Path:
        """Made when it is missing."""
        return _made(self.root / "blobs")

    def blob(self, digest: str) -> Path:
        """Where a blob is or will be.

        Raises:
            InvalidDigestError: the digest is no sha256.
        """
        if not _DIGEST.fullmatch(digest):
            raise InvalidDigestError
        return self.blobs_folder / digest.replace(":", "-")

    def existing(self, name: Name) -> Name:
        """The name spelt as an existing model spells it: case does not matter."""
        for other, _ in self.manifests():
            host, namespace, model, tag = (
                theirs if theirs.lower() == ours.lower() else ours
                for theirs, ours in zip(other.parts, name.parts, strict=True)
            )
            name = Name(host, namespace, model, tag, name.scheme)
        return name

    def manifest(self, name: Name) -> Manifest:
        """A model's manifest.

        Raises:
            FileNotFoundError: there is no such model.
            ValueError: its manifest is damaged.
        """
        path = self.manifests_folder / name.path
        return parse(path.read_bytes(), path.stat().st_mtime)

    def manifests(self) -> Iterator[tuple[Name, Manifest]]:
        """Every readable model, sorted by name."""
        for path in sorted(self.manifests_folder.glob("*/*/*/*")):
            name = names.from_path(path.relative_to(self.manifests_folder))
            if name and path.is_file():
                try:
                    yield name, self.manifest(name)
                except (OSError, ValueError):
                    continue

    def damaged(self) -> str | None:
        """What is wrong with the first manifest that cannot be read, if any."""
        for path in sorted(self.manifests_folder.glob("*/*/*/*")):
            if path.is_file():
                relative = path.relative_to(self.manifests_folder)
                name = names.from_path(relative)
                try:
                    parse(path.read_bytes())
                except (OSError, ValueError) as error:
                    return f"{name.full if name else relative} {error}"
        return None

    def write_manifest(self, name: Name, data: bytes) -> None:
        """Put these very bytes in place, in one step."""
        path = self.manifests_folder / name.path
        _made(path.parent)
        _replace(path, data)

    def add(self, data: bytes, media_type: str) -> tuple[Layer, str]:
        """Store a blob; the layer, and how Ollama reports it."""
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        path = self.blob(digest)
        status = "using existing layer" if path.exists() else "creating new layer"
        _replace(path, data)
        return Layer(media_type, digest, len(data)), f"{status} {digest}"

    def in_use(self) -> set[str]:
        """The digests that some manifest names."""
        return {blob.digest for _, manifest in self.manifests() for blob in manifest.blobs}

    def remove_unused(self, digests: Iterable[str]) -> None:
        """Delete those of the blobs that no manifest names."""
        for digest in set(digests) - self.in_use():
            self.blob(digest).unlink(missing_ok=True)

    def remove_manifest(self, name: Name) -> None:
        """Delete the manifest and the folders that it leaves empty."""
        (self.manifests_folder / name.path).unlink()
        self.remove_empty_folders()

    def remove_empty_folders(self) -> None:
        """Of the manifests' tree."""
        for folder, _, _ in os.walk(self.manifests_folder, topdown=False):
            if folder != str(self.manifests_folder) and not any(Path(folder).iterdir()):
                Path(folder).rmdir()

    def prune(self) -> tuple[int, int]:
        """Delete old blobs that nothing names, and old partial downloads.

        Returns:
            How many blobs were looked at and how many of them were removed.
        """
        since = time.time() - _UNTOUCHED_SECONDS
        old = [path for path in self.blobs_folder.iterdir()
               if path.is_file() and path.stat().st_mtime <= since]  # fmt: skip
        blobs = {path.name.replace("-", ":", 1) for path in old if _DIGEST.fullmatch(path.name)}
        for path in old:
            if not _DIGEST.fullmatch(path.name):
                path.unlink(missing_ok=True)
        unused = blobs - self.in_use()
        self.remove_unused(unused)
        return len(blobs), len(unused)


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    return folder


def _replace(path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix="sha256-", dir=path.parent)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
    Path(name).chmod(0o644)
    Path(name).replace(path)
