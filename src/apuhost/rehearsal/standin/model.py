"""The tiny models, written into a folder laid out as Ollama's store: the same bytes each time.

============================  ===================================================================
library/tiny:latest           two llama layers, a template, parameters
library/tiny:vision           the same blob with a projector
library/hybrid:latest         like the reference host's model: hybrid attention, a projector, and
                              a draft layer inside (draft_num_predict 2)
library/other:latest          tiny's blob with other parameters: the two reload each other
library/needs-newer:latest    requires an Ollama that does not exist
============================  ===================================================================
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from . import names, projector, tiny
from .store import CONFIG_TYPE, LAYER_TYPE, MANIFEST_TYPE, Store

_TEMPLATE = "{{ if .System }}{{ .System }}\n{{ end }}{{ .Prompt }}\n"
_LICENSE = "Generated weights that mean nothing: free for any use.\n"
_TOO_NEW = "99.0.0"

Blob = tuple[str, bytes]  # its type (`model`, `params` and so on) and bytes


def write(folder: Path) -> dict[str, str]:
    """Write all models; each one's digest (sha256 of its manifest) by its name."""
    store = Store(folder)
    return {name: _write(store, name, config, blobs) for name, config, blobs in _models()}


def _models() -> list[tuple[str, dict[str, object], list[Blob]]]:
    llama, clip = ("model", tiny.llama()), ("projector", projector.clip())
    texts = [("template", _TEMPLATE.encode()), ("license", _LICENSE.encode())]
    plain, hybrid = _config("llama", "124K"), _config("qwen35", "187K")
    return [
        ("tiny:latest", plain, [llama, *texts, _params(temperature=0.7, stop=["</s>"])]),
        ("tiny:vision", plain, [llama, clip, *texts, _params(temperature=0.7)]),
        ("hybrid:latest", hybrid, [
            ("model", tiny.hybrid()), clip, *texts,
            _params(temperature=1, top_k=20, draft_num_predict=2),
        ]),
        ("other:latest", plain, [llama, *texts, _params(num_ctx=4096, num_batch=256)]),
        ("needs-newer:latest", plain | {"requires": _TOO_NEW}, [llama, *texts]),
    ]  # fmt: skip


def _config(family: str, size: str) -> dict[str, object]:
    return {
        "model_format": "gguf", "model_family": family, "model_families": [family],
        "model_type": size, "file_type": "F16", "requires": "0.30.0", "architecture": "amd64",
        "os": "linux",
    }  # fmt: skip


def _params(**parameters: object) -> Blob:
    return "params", _json(parameters)


def _write(store: Store, name: str, config: Mapping[str, object], blobs: list[Blob]) -> str:
    layers = [store.add(data, LAYER_TYPE + kind)[0] for kind, data in blobs]
    document = {
        "schemaVersion": 2, "mediaType": MANIFEST_TYPE,
        "config": store.add(_json(config), CONFIG_TYPE)[0].as_json(),
        "layers": [layer.as_json() for layer in layers],
    }  # fmt: skip
    data = _json(document)
    store.write_manifest(names.parse(name), data)
    return hashlib.sha256(data).hexdigest()


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
