"""Models as files: manifests, blobs, what is kept of their registries."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apuhost.probes import model_manifest
from apuhost.probes.files import TextFile, frame
from apuhost.probes.model_names import manifest_path
from apuhost.probes.model_store import KEPT
from tests.support.stack.engine import VOLUME
from tests.support.stack.frames import sha256

GIB = 1024**3
BLOBS = "/root/.ollama/models/blobs"


@dataclass(frozen=True)
class Model:
    """A model as its registry gives it (`offered`) and as it lies in the store (`parameters`)."""

    name: str = "qwen3.6:35b-a3b"
    offered: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 1, "top_k": 20})
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: {
            "temperature": 1,
            "top_k": 20,
            "num_batch": 512,
            "draft_num_predict": 2,
        }
    )
    weights: str = "weights"
    projector: str = "projector"
    requires: str = "0.30.0"

    @property
    def pulled(self) -> str:
        """The manifest that the registry gives."""
        return self._manifest(self.offered, {})

    @property
    def stored(self) -> str:
        """The manifest that Ollama has since its parameters were set."""
        made = self.parameters != self.offered
        return self._manifest(self.parameters, {"from": self.name} if made else {})

    @property
    def digest(self) -> str:
        """What an inventory pins."""
        return sha256(self.pulled)

    @property
    def blobs(self) -> dict[str, int]:
        """Every blob with its size, the registry's parameters among them."""
        layers = [*self._layers(self.offered), *self._layers(self.parameters), self._config]
        return {layer["digest"].replace(":", "-"): layer["size"] for layer in layers}

    @property
    def blob(self) -> str:
        """The file of its weights in the container."""
        return f"{BLOBS}/sha256-{sha256(self.weights)}"

    @property
    def projector_blob(self) -> str:
        """The file of its projector in the container."""
        return f"{BLOBS}/sha256-{sha256(self.projector)}"

    @property
    def configuration(self) -> str:
        """What its registry says of it."""
        return json.dumps({"model_format": "gguf", "requires": self.requires})

    @property
    def _config(self) -> dict[str, Any]:
        text = self.configuration
        digest = f"sha256:{sha256(text)}"
        return {"mediaType": model_manifest.CONFIG, "digest": digest, "size": len(text)}

    def _manifest(self, parameters: Mapping[str, Any], origin: Mapping[str, str]) -> str:
        layers = [{**layer, **origin} for layer in self._layers(parameters)]
        members = {"schemaVersion": 2, "config": self._config, "layers": layers}
        return json.dumps(members, separators=(",", ":"))

    def _layers(self, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        sized = {"model": (self.weights, 21 * GIB), "projector": (self.projector, GIB)}
        given = [_layer(kind, *part) for kind, part in sized.items() if part[0]]
        text = options(parameters)
        return [*given, _layer("params", text, len(text))] if parameters else given


def options(parameters: Mapping[str, Any]) -> str:
    """A blob of parameters."""
    return json.dumps(parameters, separators=(",", ":"))


def _layer(kind: str, content: str, size: int) -> dict[str, Any]:
    media_type = f"application/vnd.ollama.image.{kind}"
    return {"mediaType": media_type, "digest": f"sha256:{sha256(content)}", "size": size}


QWEN = Model()


def model_store(
    *models: Model, kept: Iterable[Model] | None = None, missing: Iterable[str] = ()
) -> str:
    """The store with these models, every one of them also kept, less some blobs."""
    blobs = {name: size for model in models for name, size in model.blobs.items()}
    listing = "\n".join(f"{name} {size}" for name, size in blobs.items() if name not in missing)
    told = {
        "directory": VOLUME,
        "owner": "0:0",
        "free": f" {100 * GIB}",
        "blobs": listing,
    }
    kept_files = [file for model in (models if kept is None else kept) for file in _kept(model)]
    stored = [file for model in models for file in _stored(model)]
    heads = [TextFile(name, text) for name, text in told.items()]
    return frame((*kept_files, *heads, *dict.fromkeys(stored), TextFile("end", "")))


def _kept(model: Model) -> tuple[TextFile, ...]:
    folder = f"{KEPT}/{manifest_path(model.name)}"
    manifest = TextFile(f"{folder}/manifest", model.pulled)
    return (manifest, TextFile(f"{folder}/ollama.image.params", options(model.offered)))


def _stored(model: Model) -> tuple[TextFile, ...]:
    path = f"{VOLUME}/models/manifests/{manifest_path(model.name)}"
    texts = (options(model.parameters), model.configuration)
    blobs = (TextFile(f"{VOLUME}/models/blobs/sha256-{sha256(text)}", text) for text in texts)
    return (TextFile(path, model.stored), *blobs)
