"""GGUF files: metadata and tensor sizes read, small whole files written."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO

_MAGIC, _VERSION = b"GGUF", 3
_ALIGNMENT = 32


class Kind(IntEnum):
    """Value types of the metadata."""

    UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = range(10)
    UINT64, INT64, FLOAT64 = range(10, 13)


class TensorKind(IntEnum):
    """The tensor types that the tiny models have."""

    F32 = 0
    F16 = 1


_FORMATS = {
    Kind.UINT8: "B", Kind.INT8: "b", Kind.UINT16: "H", Kind.INT16: "h", Kind.UINT32: "I",
    Kind.INT32: "i", Kind.FLOAT32: "f", Kind.BOOL: "?", Kind.UINT64: "Q", Kind.INT64: "q",
    Kind.FLOAT64: "d",
}  # fmt: skip
_TENSOR_BYTES = {TensorKind.F32: 4, TensorKind.F16: 2}
_FILE_TYPES = {0: "F32", 1: "F16", 7: "Q8_0", 15: "Q4_K_M", 18: "Q6_K", 32: "BF16"}


@dataclass(frozen=True)
class Array:
    """A list in the metadata, all of one type."""

    kind: Kind
    items: Sequence[object]


Typed = tuple[Kind, object]  # a value to write, with its type


@dataclass(frozen=True)
class Tensor:
    """A tensor; `data` only when it is to be written."""

    name: str
    shape: tuple[int, ...]
    kind: int
    data: bytes = b""

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Its size on disk, 0 for a type that no tiny model has."""
        known = self.kind in TensorKind.__members__.values()
        return self.elements * _TENSOR_BYTES[TensorKind(self.kind)] if known else 0


@dataclass(frozen=True)
class Metadata:
    """What a GGUF file says of itself."""

    values: Mapping[str, object]
    tensors: tuple[Tensor, ...]

    @property
    def architecture(self) -> str:
        """`llama`, `qwen35`, `clip` and so on."""
        return str(self.values.get("general.architecture", ""))

    def number(self, name: str) -> int:
        """A whole number of the architecture's own (`block_count`), 0 if it is not there."""
        value = self.values.get(f"{self.architecture}.{name}", 0)
        return value if isinstance(value, int) else 0

    @property
    def parameters(self) -> int:
        """All numbers of all tensors."""
        return sum(tensor.elements for tensor in self.tensors)

    @property
    def file_type(self) -> str:
        """The quantization's name."""
        kind = self.values.get("general.file_type")
        return _FILE_TYPES.get(kind, "unknown") if isinstance(kind, int) else "unknown"

    def bytes_of(self, *prefixes: str) -> int:
        """Size of the tensors whose names begin so; without prefixes of all."""
        return sum(
            tensor.bytes for tensor in self.tensors
            if not prefixes or tensor.name.startswith(prefixes)
        )  # fmt: skip


def read(path: Path) -> Metadata:
    """The metadata of a GGUF file.

    Raises:
        ValueError: it is no GGUF file, or one that is cut.
    """
    with path.open("rb") as stream:
        if stream.read(4) != _MAGIC:
            raise ValueError(f"{path}: invalid file magic")
        try:
            _, tensors, values = _unpack(stream, "<IQQ")
            pairs = dict(_pair(stream) for _ in range(values))
            return Metadata(pairs, tuple(_tensor(stream) for _ in range(tensors)))
        except struct.error as error:
            raise ValueError(f"{path}: {error}") from error


def pack(values: Mapping[str, Typed], tensors: Sequence[Tensor]) -> bytes:
    """A whole GGUF file."""
    head = [_MAGIC, struct.pack("<IQQ", _VERSION, len(tensors), len(values))]
    head += [_text(key) + struct.pack("<I", kind) + _value(kind, item)
             for key, (kind, item) in values.items()]  # fmt: skip
    data = b""
    for tensor in tensors:
        head.append(_text(tensor.name) + struct.pack("<I", len(tensor.shape)))
        head.append(struct.pack(f"<{len(tensor.shape)}Q", *tensor.shape))
        head.append(struct.pack("<IQ", tensor.kind, len(data)))
        data += _padded(tensor.data)
    return _padded(b"".join(head)) + data


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNMENT)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(kind: Kind, item: object) -> bytes:
    if isinstance(item, Array):
        head = struct.pack("<IQ", item.kind, len(item.items))
        return head + b"".join(_value(item.kind, each) for each in item.items)
    if kind is Kind.STRING:
        return _text(str(item))
    return struct.pack(f"<{_FORMATS[kind]}", item)


def _unpack(stream: BinaryIO, layout: str) -> tuple[int, ...]:
    return struct.unpack(layout, stream.read(struct.calcsize(layout)))


def _pair(stream: BinaryIO) -> tuple[str, object]:
    name = _string(stream)
    (kind,) = _unpack(stream, "<I")
    return name, _read_value(stream, Kind(kind))


def _read_value(stream: BinaryIO, kind: Kind) -> object:
    if kind is Kind.STRING:
        return _string(stream)
    if kind is Kind.ARRAY:
        inner, count = _unpack(stream, "<IQ")
        return [_read_value(stream, Kind(inner)) for _ in range(count)]
    (value,) = _unpack(stream, f"<{_FORMATS[kind]}")
    return value


def _string(stream: BinaryIO) -> str:
    (length,) = _unpack(stream, "<Q")
    return stream.read(length).decode(errors="replace")


def _tensor(stream: BinaryIO) -> Tensor:
    name = _string(stream)
    (dimensions,) = _unpack(stream, "<I")
    shape = _unpack(stream, f"<{dimensions}Q")
    kind, _ = _unpack(stream, "<IQ")
    return Tensor(name, shape, kind)
