"""A model's manifest, as its registry gives it and Ollama stores it, and its parameters.

The digest of a model is the SHA-256 of its manifest's bytes: /api/tags shows it, in hex. The
parameters are a blob of their own, a JSON object of options.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apuhost.probes import ParseError, files
from apuhost.probes.json_values import load_object, member, objects

KIND = "application/vnd.ollama.image."
PARAMS = f"{KIND}params"
CONFIG = "application/vnd.docker.container.image.v1+json"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Layer:
    """One blob of a model: sha256:HEX and its size in bytes.

    `origin` is the model that Ollama took it over from when it made this one of it; "" as pulled.
    """

    media_type: str
    digest: str
    size: int
    origin: str = ""

    @property
    def kind(self) -> str:
        """What it is to Ollama: model, projector, params, template, system, license and more."""
        return self.media_type.removeprefix(KIND)

    @property
    def is_params(self) -> bool:
        """Whether it holds the model's parameters."""
        return self.media_type == PARAMS

    @property
    def blob(self) -> str:
        """The name of its file in the store."""
        return self.digest.replace(":", "-", 1)


@dataclass(frozen=True)
class Manifest:
    """What a model is made of; `digest` is that of the manifest itself, in hex."""

    digest: str
    layers: tuple[Layer, ...]
    config: Layer


@dataclass(frozen=True)
class Offer:
    """What a registry gives for a name; `requires` as `requires` reads it."""

    digest: str
    layers: tuple[Layer, ...]
    config: Layer
    parameters: Mapping[str, Any]
    requires: str


def weights(layers: Iterable[Layer]) -> frozenset[str]:
    """Return what a model is made of but for its parameters: digests of its other layers."""
    return frozenset(layer.digest for layer in layers if not layer.is_params)


def sha256(text: str) -> str:
    """Return the hex digest of a file's bytes; surrogates stand for undecodable ones."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def parse(text: str) -> Manifest:
    """Read a manifest.

    Raises:
        ParseError: no JSON, or a layer without a digest or of another form.
    """
    members = load_object(text)
    layers = tuple(_layer(layer) for layer in objects(members, "layers"))
    return Manifest(sha256(text), layers, _layer(member(members, "config", {})))


def parameters(manifest: Manifest, blobs: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a model's options: {} for a model that has none.

    Args:
        manifest: of the model.
        blobs: texts by their SHA-256 in hex.

    Raises:
        ParseError: the blob that holds them is not there, or is no JSON object.
    """
    found: dict[str, Any] = {}
    for layer in manifest.layers:
        if layer.is_params:
            found |= load_object(_content(layer, blobs))
    return found


def requires(config: Layer, blobs: Mapping[str, str]) -> str:
    """Return the version of Ollama that a model needs; "" when it does not say.

    Args:
        config: the layer that tells it.
        blobs: texts by their SHA-256 in hex.

    Raises:
        ParseError: the blob is not there, or is no JSON object.
    """
    return member(load_object(_content(config, blobs)), "requires", "")


def parse_offer(text: str) -> Offer:
    """Read the framed files of an offer: `manifest`, and the blobs of config and parameters.

    The blobs are known by their digests, whatever their names.

    Raises:
        ParseError: a file is missing, is not what the manifest says, or is of another form.
    """
    texts = {file.path.rpartition("/")[2]: file.text for file in files.parse_files(text)}
    if "manifest" not in texts:
        raise ParseError("the registry gave no manifest")
    manifest = parse(texts["manifest"])
    blobs = {sha256(content): content for content in texts.values()}
    return Offer(
        digest=manifest.digest,
        layers=manifest.layers,
        config=manifest.config,
        parameters=parameters(manifest, blobs),
        requires=requires(manifest.config, blobs),
    )


def _content(layer: Layer, blobs: Mapping[str, str]) -> str:
    digest = layer.digest.partition(":")[2]
    if digest not in blobs:
        raise ParseError(f"blob {layer.digest} ({layer.kind}) is not here or is another one")
    return blobs[digest]


def _layer(members: Mapping[str, Any]) -> Layer:
    digest = member(members, "digest", "")
    if not _DIGEST.fullmatch(digest):
        raise ParseError("a layer without a digest")
    return Layer(
        media_type=member(members, "mediaType", ""),
        digest=digest,
        size=member(members, "size", 0),
        origin=member(members, "from", ""),
    )
