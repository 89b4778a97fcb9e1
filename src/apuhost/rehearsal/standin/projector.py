"""A tiny vision projector beside a tiny model, as llama-server loads it with --mmproj."""

from __future__ import annotations

from .gguf import Array, Kind, Typed, pack
from .tiny import Weights

_WIDTH = 64  # as the models': what it projects to
_PATCH, _PATCHES = 14, 2


def clip() -> bytes:
    """Two layers, images of 28 x 28 pixels in four patches."""
    weights = Weights(9)
    weights.constant(0.1, "v.class_embd", _WIDTH)
    weights.matrix("v.patch_embd.weight", _PATCH, _PATCH, 3, _WIDTH)
    weights.constant(0.1, "v.position_embd.weight", _WIDTH, _PATCHES**2 + 1)
    _norm(weights, "v.pre_ln")
    for layer in ("v.blk.0.", "v.blk.1."):
        for name in ("attn_q", "attn_k", "attn_v", "attn_out", "ffn_down", "ffn_up"):
            _linear(weights, f"{layer}{name}")
        for name in ("ln1", "ln2"):
            _norm(weights, f"{layer}{name}")
    for name in ("mm.0", "mm.2"):
        _linear(weights, name)
    return pack(_values(), weights.tensors)


def _linear(weights: Weights, name: str) -> None:
    weights.matrix(f"{name}.weight", _WIDTH, _WIDTH)
    weights.constant(0.1, f"{name}.bias", _WIDTH)


def _norm(weights: Weights, name: str) -> None:
    weights.constant(0.1, f"{name}.weight", _WIDTH)
    weights.constant(0.1, f"{name}.bias", _WIDTH)


def _values() -> dict[str, Typed]:
    numbers = {
        "image_size": _PATCH * _PATCHES, "patch_size": _PATCH, "embedding_length": _WIDTH,
        "feed_forward_length": _WIDTH, "projection_dim": _WIDTH, "block_count": 2,
        "attention.head_count": 1,
    }  # fmt: skip
    grey = Array(Kind.FLOAT32, (0.5, 0.5, 0.5))
    values: dict[str, Typed] = {
        "general.architecture": (Kind.STRING, "clip"),
        "general.type": (Kind.STRING, "mmproj"),
        "general.file_type": (Kind.UINT32, 1),
        "clip.has_vision_encoder": (Kind.BOOL, True),
        "clip.projector_type": (Kind.STRING, "mlp"),
        "clip.use_gelu": (Kind.BOOL, True),
        "clip.vision.attention.layer_norm_epsilon": (Kind.FLOAT32, 1e-5),
        "clip.vision.image_mean": (Kind.ARRAY, grey),
        "clip.vision.image_std": (Kind.ARRAY, grey),
    }
    numbered: dict[str, Typed] = {
        f"clip.vision.{name}": (Kind.UINT32, number) for name, number in numbers.items()
    }
    return values | numbered
