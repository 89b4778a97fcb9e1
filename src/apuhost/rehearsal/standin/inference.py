"""Prompts: sent to a runner, answered piece by piece in the forms of Ollama's API.

facts/ollama.md section 4. Durations are nanoseconds; the counts cover the whole prompt, cached
tokens included, and prompt_eval_cached_count says how many of them were cached.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .options import Options
from .scheduler import Loaded

_MOST_CONTEXTS = 10  # a generation without an end of its own is ended after so many contexts
_MILLISECOND = 1_000_000


@dataclass(frozen=True)
class Question:
    """A prompt as the runner gets it; pictures in base64."""

    prompt: str
    options: Options
    images: Sequence[str] = ()
    grammar: Mapping[str, object] | None = None


@dataclass(frozen=True)
class Piece:
    """A piece of the answer; the last one says why it ended and what it took."""

    text: str
    reason: str = ""
    metrics: Mapping[str, int] | None = None


def answer(loaded: Loaded, question: Question) -> Iterator[Piece]:
    """Ask the runner, one request per slot.

    Raises:
        RunnerError: it refused, or broke off.
    """
    with loaded.slots:
        for event in loaded.runner.stream("/completion", _request(loaded, question)):
            if event.get("stop"):
                yield _last(event)
                return
            if event.get("content"):
                yield Piece(str(event["content"]))


def tokens(loaded: Loaded, text: str) -> list[int]:
    """A text's token numbers."""
    found: list[int] = loaded.runner.ask("/tokenize", {"content": text})["tokens"]
    return found


def durations(began: float, ready: float) -> dict[str, int]:
    """total_duration and load_duration of a request that is done (time.monotonic)."""
    return {
        "total_duration": int((time.monotonic() - began) * 10**9),
        "load_duration": int((ready - began) * 10**9),
    }


def _last(event: Mapping[str, Any]) -> Piece:
    timings = event.get("timings") or {}
    cached, read = timings.get("cache_n"), timings.get("prompt_n", 0)
    metrics = {
        "prompt_eval_count": (cached or 0) + read,
        "prompt_eval_cached_count": cached,
        "prompt_eval_duration": int(timings.get("prompt_ms", 0) * _MILLISECOND),
        "eval_count": timings.get("predicted_n", 0),
        "eval_duration": int(timings.get("predicted_ms", 0) * _MILLISECOND),
    }
    reason = "length" if event.get("stop_type") == "limit" else "stop"
    kept = {key: value for key, value in metrics.items()
            if value or (key == "prompt_eval_cached_count" and value is not None)}  # fmt: skip
    return Piece(str(event.get("content", "")), reason, kept)


def _request(loaded: Loaded, question: Question) -> dict[str, object]:
    options = question.options
    limit = _MOST_CONTEXTS * loaded.options.num_ctx
    predict = options.num_predict if 0 <= options.num_predict <= limit else limit
    request: dict[str, object] = {
        "prompt": _prompt(loaded, question), "stream": True, "cache_prompt": True,
        "n_predict": predict, "n_keep": options.num_keep, "temperature": options.temperature,
        "top_k": options.top_k, "top_p": options.top_p, "min_p": options.min_p,
        "repeat_penalty": options.repeat_penalty, "repeat_last_n": options.repeat_last_n,
        "frequency_penalty": options.frequency_penalty,
        "presence_penalty": options.presence_penalty, "typical_p": options.typical_p,
        "seed": options.seed,
    }  # fmt: skip
    return {
        **request,
        **({"stop": list(options.stop)} if options.stop else {}),
        **(question.grammar or {}),
    }


def _prompt(loaded: Loaded, question: Question) -> object:
    if not question.images:
        return question.prompt
    marker = loaded.runner.environ["LLAMA_MEDIA_MARKER"]
    text = "\n".join([*[marker] * len(question.images), question.prompt])
    return {"prompt_string": text, "multimodal_data": list(question.images)}
