"""The tiny models' files: weights of a fixed random generator, the same bytes each time.

The shapes are real ones, each checked with Debian's llama-server: `llama` for the usual model,
`qwen35` for one like the reference host's (hybrid attention, a draft layer inside), `clip` for
a projector.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from .gguf import Array, Kind, Tensor, TensorKind, Typed, pack

CONTEXT = 262144
_WIDTH, _FEED_FORWARD = 64, 128
# The simulated GPU computes nothing: all logits are 0, and the sampler takes among the first
# tokens. So these are words, and the special tokens come last.
_WORDS = ("the", "a", "quick", "lazy", "tiny", "host", "runs", "model")
_WORD_TOKENS, _BYTES = 64, 256
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_F16_FILE = 1


@dataclass
class Weights:
    """Collects tensors in order, each filled from one generator.

    Only additions and multiplications: a function of libm might round otherwise elsewhere.
    """

    seed: int
    tensors: list[Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311  (weights, not secrets)

    def matrix(self, name: str, *shape: int) -> None:
        """Half precision, evenly distributed around 0."""
        numbers = self._numbers(shape)
        self.tensors.append(
            Tensor(name, shape, TensorKind.F16, struct.pack(f"<{len(numbers)}e", *numbers))
        )

    def single(self, name: str, *shape: int) -> None:
        """Single precision, evenly distributed around 0."""
        numbers = self._numbers(shape)
        self.tensors.append(
            Tensor(name, shape, TensorKind.F32, struct.pack(f"<{len(numbers)}f", *numbers))
        )

    def constant(self, value: float, name: str, *shape: int) -> None:
        """Single precision, one number throughout."""
        tensor = Tensor(name, shape, TensorKind.F32)
        data = struct.pack("<f", value) * tensor.elements
        self.tensors.append(Tensor(name, shape, TensorKind.F32, data))

    def _numbers(self, shape: tuple[int, ...]) -> list[float]:
        count = Tensor("", shape, TensorKind.F32).elements
        return [self._random.random() * 0.25 - 0.125 for _ in range(count)]


def llama() -> bytes:
    """Two layers of the `llama` architecture."""
    weights = Weights(7)
    weights.matrix("token_embd.weight", _WIDTH, _vocabulary_size())
    for layer in ("blk.0.", "blk.1."):
        weights.constant(1, f"{layer}attn_norm.weight", _WIDTH)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            weights.matrix(f"{layer}{name}.weight", _WIDTH, _WIDTH)
        weights.constant(1, f"{layer}ffn_norm.weight", _WIDTH)
        _feed_forward(weights, layer)
    _output(weights)
    values = _general("llama") | _shape("llama", blocks=2) | {
        "llama.rope.dimension_count": (Kind.UINT32, _WIDTH),
    }  # fmt: skip
    return pack(values | _tokenizer(), weights.tensors)


def hybrid() -> bytes:
    """`qwen35`: a recurrent layer, an attention layer, and a layer that drafts tokens (MTP)."""
    weights = Weights(8)
    weights.matrix("token_embd.weight", _WIDTH, _vocabulary_size())
    for layer in ("blk.0.", "blk.1.", "blk.2."):
        weights.constant(1, f"{layer}attn_norm.weight", _WIDTH)
        weights.constant(1, f"{layer}post_attention_norm.weight", _WIDTH)
        (_recurrent if layer == "blk.0." else _gated_attention)(weights, layer)
        _feed_forward(weights, layer)
    weights.matrix("blk.2.nextn.eh_proj.weight", 2 * _WIDTH, _WIDTH)
    for name in ("enorm", "hnorm", "shared_head_norm"):
        weights.constant(1, f"blk.2.nextn.{name}.weight", _WIDTH)
    _output(weights)
    return pack(_general("qwen35") | _hybrid_shape() | _tokenizer(), weights.tensors)


_HEADS, _STATE = 2, 32  # of the recurrent layer


def _recurrent(weights: Weights, layer: str) -> None:
    inner = _HEADS * _STATE
    weights.matrix(f"{layer}attn_qkv.weight", _WIDTH, 3 * inner)
    weights.matrix(f"{layer}attn_gate.weight", _WIDTH, inner)
    weights.single(f"{layer}ssm_conv1d.weight", 4, 3 * inner)
    weights.constant(1, f"{layer}ssm_dt.bias", _HEADS)
    weights.constant(-1, f"{layer}ssm_a", _HEADS)
    weights.matrix(f"{layer}ssm_beta.weight", _WIDTH, _HEADS)
    weights.matrix(f"{layer}ssm_alpha.weight", _WIDTH, _HEADS)
    weights.constant(1, f"{layer}ssm_norm.weight", _STATE)
    weights.matrix(f"{layer}ssm_out.weight", inner, _WIDTH)


def _gated_attention(weights: Weights, layer: str) -> None:
    weights.matrix(f"{layer}attn_q.weight", _WIDTH, 2 * _WIDTH)
    for name in ("attn_k", "attn_v", "attn_output"):
        weights.matrix(f"{layer}{name}.weight", _WIDTH, _WIDTH)
    weights.constant(1, f"{layer}attn_q_norm.weight", _WIDTH)
    weights.constant(1, f"{layer}attn_k_norm.weight", _WIDTH)


def _feed_forward(weights: Weights, layer: str) -> None:
    weights.matrix(f"{layer}ffn_gate.weight", _WIDTH, _FEED_FORWARD)
    weights.matrix(f"{layer}ffn_up.weight", _WIDTH, _FEED_FORWARD)
    weights.matrix(f"{layer}ffn_down.weight", _FEED_FORWARD, _WIDTH)


def _output(weights: Weights) -> None:
    weights.constant(1, "output_norm.weight", _WIDTH)
    weights.matrix("output.weight", _WIDTH, _vocabulary_size())


def _general(architecture: str) -> dict[str, Typed]:
    return {
        "general.architecture": (Kind.STRING, architecture),
        "general.name": (Kind.STRING, "tiny"),
        "general.file_type": (Kind.UINT32, _F16_FILE),
    }


def _shape(architecture: str, blocks: int) -> dict[str, Typed]:
    numbers = {
        "block_count": blocks, "context_length": CONTEXT, "embedding_length": _WIDTH,
        "feed_forward_length": _FEED_FORWARD, "attention.head_count": 1,
        "attention.head_count_kv": 1, "vocab_size": _vocabulary_size(),
    }  # fmt: skip
    values: dict[str, Typed] = {
        f"{architecture}.{name}": (Kind.UINT32, number) for name, number in numbers.items()
    }
    return values | {f"{architecture}.attention.layer_norm_rms_epsilon": (Kind.FLOAT32, 1e-5)}


def _hybrid_shape() -> dict[str, Typed]:
    numbers = {
        "nextn_predict_layers": 1, "full_attention_interval": 2, "rope.dimension_count": _WIDTH,
        "attention.key_length": _WIDTH, "attention.value_length": _WIDTH, "ssm.conv_kernel": 4,
        "ssm.inner_size": _HEADS * _STATE, "ssm.state_size": _STATE,
        "ssm.time_step_rank": _HEADS, "ssm.group_count": _HEADS,
    }  # fmt: skip
    values: Mapping[str, Typed] = {
        f"qwen35.{name}": (Kind.UINT32, number) for name, number in numbers.items()
    }
    sections = Array(Kind.INT32, (11, 11, 10, 0))
    return {
        **_shape("qwen35", blocks=3),
        **values,
        "qwen35.rope.dimension_sections": (Kind.ARRAY, sections),
    }


def _tokens() -> list[tuple[str, float, int]]:
    """Text, score and type of each token."""
    words = [
        (f"▁{_WORDS[index % len(_WORDS)]}{index // len(_WORDS) or ''}", -float(index), _NORMAL)
        for index in range(_WORD_TOKENS)
    ]
    single = [(f"<0x{byte:02X}>", 0.0, _BYTE) for byte in range(_BYTES)]
    special = [("<unk>", 0.0, _UNKNOWN), ("<s>", 0.0, _CONTROL), ("</s>", 0.0, _CONTROL)]
    return [*words, *single, *special]


def _vocabulary_size() -> int:
    return len(_tokens())


def _tokenizer() -> dict[str, Typed]:
    texts, scores, types = zip(*_tokens(), strict=True)
    unknown = texts.index("<unk>")
    return {
        "tokenizer.ggml.model": (Kind.STRING, "llama"),
        "tokenizer.ggml.tokens": (Kind.ARRAY, Array(Kind.STRING, texts)),
        "tokenizer.ggml.scores": (Kind.ARRAY, Array(Kind.FLOAT32, scores)),
        "tokenizer.ggml.token_type": (Kind.ARRAY, Array(Kind.INT32, types)),
        "tokenizer.ggml.unknown_token_id": (Kind.UINT32, unknown),
        "tokenizer.ggml.bos_token_id": (Kind.UINT32, unknown + 1),
        "tokenizer.ggml.eos_token_id": (Kind.UINT32, unknown + 2),
        "tokenizer.ggml.add_bos_token": (Kind.BOOL, True),
    }
