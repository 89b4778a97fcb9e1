"""A model of the store with all that its layers say, and how the API shows it.

facts/ollama.md section 4: /api/tags, /api/ps and /api/show.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from . import gguf, slog
from .gguf import Metadata
from .names import Name
from .store import Manifest, Store

_SMALLEST_EXPONENT, _LARGEST_EXPONENT = -4, 6  # between them numbers are written out
_LONG_LIST = 5  # longer lists of the metadata are left out of /api/show


@dataclass(frozen=True)
class Model:
    """What a request for a model works with."""

    name: Name
    manifest: Manifest
    config: Mapping[str, object]
    path: Path
    template: str | None = None
    system: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    licenses: tuple[str, ...] = ()
    projector: Path | None = None
    draft: Path | None = None
    adapters: tuple[Path, ...] = ()

    @cached_property
    def metadata(self) -> Metadata:
        """Of the model's file; empty where that is missing or damaged: such a model can nothing."""
        try:
            return gguf.read(self.path)
        except (OSError, ValueError):
            return Metadata({}, ())

    @property
    def renders_itself(self) -> bool:
        """Prompts are rendered by Ollama, not by llama-server: the model has a Go template."""
        parts = (self.config.get("renderer"), self.config.get("parser"))
        return self.template is not None or any(parts)

    @property
    def embeds_only(self) -> bool:
        """A model for embeddings answers no prompt."""
        return f"{self.metadata.architecture}.pooling_type" in self.metadata.values

    @property
    def draft_kind(self) -> str:
        """How it can draft tokens, empty if it cannot."""
        if self.draft:
            dflash = gguf.read(self.draft).architecture == "dflash"
            return "draft-dflash" if dflash else "draft-mtp"
        legacy = self.metadata.architecture in {"qwen35", "qwen35moe"} and any(
            tensor.name.startswith("mtp.") for tensor in self.metadata.tensors
        )
        return "draft-mtp" if legacy or self.metadata.number("nextn_predict_layers") else ""

    @property
    def capabilities(self) -> list[str]:
        """As the API names them."""
        does = "embedding" if self.embeds_only else "completion"
        return [*([does] if self.metadata.values else ()), *(["vision"] if self.projector else ())]


def load(store: Store, name: Name) -> Model:
    """A model with its small layers read.

    Raises:
        FileNotFoundError: no such model, or one of these is missing.
        ValueError: one of them is damaged.
    """
    manifest = store.manifest(name)
    paths = {kind: [store.blob(layer.digest) for layer in manifest.of_kind(kind)]
             for kind in ("model", "projector", "draft", "adapter", "template", "system", "params",
                          "license")}  # fmt: skip
    model = paths["model"][0]
    texts = {kind: [path.read_text(encoding="utf-8") for path in paths[kind]]
             for kind in ("template", "system", "license")}  # fmt: skip
    return Model(
        name, manifest, _json(store.blob(manifest.config.digest)), model,
        template=texts["template"][-1] if texts["template"] else None,
        system=texts["system"][-1] if texts["system"] else "",
        parameters=_json(paths["params"][-1]) if paths["params"] else {},
        licenses=tuple(texts["license"]), adapters=tuple(paths["adapter"]),
        projector=paths["projector"][0] if paths["projector"] else None,
        draft=paths["draft"][0] if paths["draft"] else None,
    )  # fmt: skip


def _json(path: Path) -> dict[str, object]:
    parsed = json.loads(path.read_bytes())
    return parsed if isinstance(parsed, dict) else {}


def listed(model: Model) -> dict[str, object]:
    """One entry of /api/tags."""
    entry = {
        "name": model.name.shortest, "model": model.name.shortest,
        "modified_at": timestamp(model.manifest.modified), "size": model.manifest.size,
        "digest": model.manifest.digest, "details": _details(model) | _lengths(model),
    }  # fmt: skip
    return entry | {"capabilities": model.capabilities}


def running(
    model: Model, size: int, on_gpu: int, context: int, expires: datetime
) -> dict[str, object]:
    """One entry of /api/ps; sizes in bytes, context in tokens per slot."""
    return {
        "name": model.name.shortest, "model": model.name.shortest, "size": size,
        "digest": model.manifest.digest, "details": _details(model),
        "expires_at": expires.isoformat().replace("+00:00", "Z"), "size_vram": on_gpu,
        "context_length": context,
    }  # fmt: skip


def shown(model: Model, *, verbose: bool) -> dict[str, object]:
    """/api/show; keys without a value are left out."""
    parameters = parameter_lines(model.parameters)
    reply = {
        "license": "\n".join(model.licenses), "modelfile": _modelfile(model),
        "parameters": "\n".join(parameters), "template": model.template or "{{ .Prompt }}",
        "system": model.system, "details": _details(model),
        "model_info": _information(model.metadata, verbose=verbose),
        "projector_info": (_information(gguf.read(model.projector), verbose=verbose)
                           if model.projector else None),
        "tensors": [{"name": tensor.name, "type": gguf.TensorKind(tensor.kind).name,
                     "shape": list(tensor.shape)} for tensor in model.metadata.tensors],
        "capabilities": model.capabilities, "modified_at": timestamp(model.manifest.modified),
        "requires": model.config.get("requires"),
    }  # fmt: skip
    return {key: value for key, value in reply.items() if value or key == "model_info"}


def parameter_lines(parameters: Mapping[str, object]) -> list[str]:
    """Key padded to 30, a blank, Go's `%#v`; a list gives a line for each item."""
    return [
        f"{key:<30} {_literal(item)}"
        for key, value in parameters.items()
        for item in (value if isinstance(value, list) else [value])
    ]


def timestamp(seconds: float) -> str:
    """RFC 3339 in UTC, as Go marshals a time."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _details(model: Model) -> dict[str, object]:
    config = model.config
    return {
        "parent_model": "", "format": config.get("model_format", ""),
        "family": config.get("model_family", ""), "families": config.get("model_families"),
        "parameter_size": config.get("model_type", ""),
        "quantization_level": config.get("file_type", ""),
    }  # fmt: skip


def _lengths(model: Model) -> dict[str, object]:
    names = ("context_length", "embedding_length")
    return {name: length for name in names if (length := model.metadata.number(name))}


def _information(metadata: Metadata, *, verbose: bool) -> dict[str, object]:
    shown = {
        key: [] if isinstance(value, list) and len(value) > _LONG_LIST and not verbose else value
        for key, value in metadata.values.items()
        if key not in {"general.name", "tokenizer.chat_template"}
    }
    return dict(sorted((shown | {"general.parameter_count": metadata.parameters}).items()))


def _modelfile(model: Model) -> str:
    head = [
        '# Modelfile generated by "ollama show"',
        "# To build a new Modelfile based on this, replace FROM with:",
        f"# FROM {model.name.shortest}", "", f"FROM {model.path}",
    ]  # fmt: skip
    projector = [f"FROM {model.projector}"] if model.projector else []
    template = [f'TEMPLATE """{model.template}"""'] if model.template else []
    parameters = [
        f"PARAMETER {key} {item}" for key, value in model.parameters.items()
        for item in (value if isinstance(value, list) else [value])
    ]  # fmt: skip
    licenses = [f'LICENSE """{text}"""' for text in model.licenses]
    return "\n".join([*head, *projector, *template, *parameters, *licenses, ""])


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return slog.quote(value)
    return _float(float(value)) if isinstance(value, (int, float)) else str(value)


def _float(value: float) -> str:
    """A JSON number is a float64 to Go: the shortest digits, from 1e6 on with an exponent."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    place = len(digits) - 1 + int(exponent)
    if value and not _SMALLEST_EXPONENT <= place < _LARGEST_EXPONENT:
        rest = "".join(map(str, digits[1:]))
        return f"{'-' * sign}{digits[0]}{'.' * bool(rest)}{rest}e{place:+03d}"
    return f"{Decimal(repr(value)).normalize():f}"
