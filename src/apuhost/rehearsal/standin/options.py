"""A request's options over the model's parameters over the environment over the defaults.

facts/ollama.md sections 1 and 4. The runner's part decides llama-server's arguments; the rest
goes with each request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeGuard

Values = Mapping[str, object]

_INTEGERS = frozenset(
    ("num_ctx", "num_batch", "num_gpu", "main_gpu", "num_thread", "draft_num_predict",
     "num_keep", "seed", "num_predict", "top_k", "repeat_last_n")
)  # fmt: skip
_FLOATS = frozenset(
    ("top_p", "min_p", "typical_p", "temperature", "repeat_penalty", "presence_penalty",
     "frequency_penalty")
)  # fmt: skip
_RUNNER = frozenset(
    ("num_ctx", "num_batch", "num_gpu", "main_gpu", "use_mmap", "num_thread", "draft_num_predict")
)


@dataclass(frozen=True)
class Runner:
    """What a loaded runner is started with: another value means another runner."""

    num_ctx: int = 0
    num_batch: int = 512
    num_gpu: int = -1
    main_gpu: int | None = None
    use_mmap: bool | None = None
    num_thread: int = 0
    draft_num_predict: int = 4


@dataclass(frozen=True)
class Options:
    """All options of one request."""

    runner: Runner = Runner()
    num_keep: int = 4
    seed: int = -1
    num_predict: int = -1
    top_k: int = 40
    top_p: float = 0.9
    min_p: float = 0.0
    typical_p: float = 1.0
    repeat_last_n: int = 64
    temperature: float = 0.8
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    stop: Sequence[str] = ()
    automatic_context: bool = False
    automatic_batch: bool = False
    unknown: Sequence[str] = ()


def merge(
    parameters: Values, request: Values, *, context: int, fallback_context: int, drafts: bool
) -> Options:
    """The options in force.

    Args:
        parameters: the model's own.
        request: what the request asks for.
        context: OLLAMA_CONTEXT_LENGTH, 0 if unset.
        fallback_context: what the GPU's memory allows by default.
        drafts: whether a draft model lies beside the model; only then is drafting on by default.

    Raises:
        ValueError: an option is of another type.
    """
    chosen = _read(parameters) | _read(request)
    given = {*parameters, *request}
    runner = {name: value for name, value in chosen.items() if name in _RUNNER}
    runner.setdefault("num_ctx", context or fallback_context)
    if not drafts:
        runner.setdefault("draft_num_predict", 0)
    rest = {name: value for name, value in chosen.items() if name not in _RUNNER}
    return Options(
        runner=Runner(**runner),
        automatic_context="num_ctx" not in given and not context,
        automatic_batch="num_batch" not in given,
        unknown=sorted(given - _INTEGERS - _FLOATS - {"use_mmap", "stop"}),
        **rest,
    )


def _read(values: Values) -> dict[str, Any]:
    known = _INTEGERS | _FLOATS | {"use_mmap", "stop"}
    return {
        name: _typed(name, value)
        for name, value in values.items()
        if value is not None and name in known
    }


def _typed(name: str, value: object) -> object:
    number = float(value) if _is_number(value) else None
    if name in _INTEGERS:
        return _refuse(name, "integer") if number is None else int(number)
    if name in _FLOATS:
        return _refuse(name, "float32") if number is None else number
    if name == "use_mmap":
        return value if isinstance(value, bool) else _refuse(name, "boolean")
    if not isinstance(value, list):
        return _refuse(name, "array")
    if not all(isinstance(item, str) for item in value):
        raise ValueError(f'option "{name}" must be of an array of strings')
    return value


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _refuse(name: str, kind: str) -> NoReturn:
    raise ValueError(f'option "{name}" must be of type {kind}')
