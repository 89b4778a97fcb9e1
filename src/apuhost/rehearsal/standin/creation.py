"""/api/create from an existing model: other parameters, the other layers as they are.

As in Ollama the new manifest names where each layer came from and has a configuration written
anew; the parameters are merged into those that the model has. Creating from files is not here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from . import environment, models, names, sizes, store
from .models import Model
from .names import Name
from .pull import PullError
from .requests import BAD_REQUEST, INTERNAL, ApiError, Body
from .service import Send, Service
from .store import CONFIG_TYPE, LAYER_TYPE, Layer

_NOT_HERE = 501
_ARCHITECTURE = {"architecture": "amd64", "os": "linux"}


def create(service: Service, body: Body, name: Name, tell: Send) -> None:
    """Write the new manifest, then remove what the old one needed and nobody needs now.

    Raises:
        ApiError: the request cannot be met.
    """
    base = _base(service, body, tell)
    before = _blobs_before(service, name)
    layers: list[tuple[Layer, str]] = [
        (Layer(layer.media_type, layer.digest, layer.size, base.name.shortest),
         f"using existing layer {layer.digest}")
        for layer in base.manifest.layers
    ]  # fmt: skip
    for kind in ("template", "system", "license"):
        if text := body.text(kind):
            layers = _replaced(service, layers, kind, text.encode())
    if parameters := {**base.parameters, **body.object("parameters")}:
        layers = _replaced(service, layers, "params", _json(dict(sorted(parameters.items()))))
    for _, status in layers:
        tell({"status": status})
    tell({"status": "writing manifest"})
    config, _ = service.store.add(_json(_config(base, body)), CONFIG_TYPE)
    manifest = store.packed(config, [layer for layer, _ in layers])
    service.store.write_manifest(name, manifest)
    if not environment.boolean(service.environ, "OLLAMA_NOPRUNE"):
        service.store.remove_unused(before)
    tell({"status": "success"})


def _base(service: Service, body: Body, tell: Send) -> Model:
    """The model to start from, pulled if it is not there."""
    if body.object("files"):
        raise ApiError(_NOT_HERE, "the stand-in creates models from models only")
    if not body.text("from"):
        raise ApiError(BAD_REQUEST, "neither 'from' or 'files' was specified")
    name = names.parse(body.text("from"))
    if not name.valid:
        raise ApiError(BAD_REQUEST, "invalid model name")
    name = service.store.existing(name)
    try:
        if not (service.store.manifests_folder / name.path).exists():
            service.puller.pull(name, insecure=False, tell=tell)
        return models.load(service.store, name)
    except (PullError, OSError, ValueError) as error:
        raise ApiError(INTERNAL, str(error)) from error


def _blobs_before(service: Service, name: Name) -> set[str]:
    try:
        return {blob.digest for blob in service.store.manifest(name).blobs}
    except (OSError, ValueError):
        return set()


def _replaced(
    service: Service, layers: Sequence[tuple[Layer, str]], kind: str, data: bytes
) -> list[tuple[Layer, str]]:
    kept = [(layer, status) for layer, status in layers if layer.kind != kind]
    return [*kept, service.store.add(data, LAYER_TYPE + kind)]


def _config(base: Model, body: Body) -> dict[str, object]:
    taken = {
        key: body.text(key) or base.config.get(key) for key in ("renderer", "parser", "requires")
    }
    return {
        "model_format": base.config.get("model_format") or "gguf",
        "model_family": base.metadata.architecture,
        "model_families": [base.metadata.architecture],
        "model_type": sizes.parameters(base.metadata.parameters),
        "file_type": base.metadata.file_type,
        **{key: value for key, value in taken.items() if value},
        **_ARCHITECTURE,
    }


def _json(values: Mapping[str, object]) -> bytes:
    """As Go's encoder writes it, with a newline."""
    return f"{json.dumps(values, ensure_ascii=False, separators=(',', ':'))}\n".encode()
