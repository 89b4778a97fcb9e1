"""How one request to Ollama went: its final object, or what `ollama run --verbose` prints.

The final object of /api/generate and /api/chat has `done`: true; times are nanoseconds (Ollama's
api/types.go). The OpenAI-compatible form tells tokens in `usage`; llama-server adds `timings`, in
milliseconds. Of several requests the last one counts.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apuhost.probes import ParseError
from apuhost.probes.pairs import whole_number
from apuhost.probes.pasted_json import MOST, count, object_from, objects_in, typed, word
from apuhost.probes.plain_text import plain

_NS, _MS = 10**9, 1000  # in a second
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}

# Metrics.Summary of Ollama's api/types.go; each line stands only where there is something to tell.
_LINE = re.compile(
    r"^[ \t]*(total duration|load duration|prompt eval (?:count|cached|duration|rate)"
    r"|eval (?:count|duration|rate))(?: count)?:[ \t]+(\S+)",
    re.MULTILINE,
)
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:h|ms|m|s|us|µs|ns))+")
_PART = re.compile(r"([0-9.]+)(h|ms|m|s|us|µs|ns)")
_DECIMAL = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")


@dataclass(frozen=True)
class Final:
    """Tokens of the prompt, of these read from the cache; rates; seconds of loading.

    The rate of reading counts the tokens that were not in the cache: the time covers only them.
    Before 0.33.3 the cached ones are not told, and the rate of a prompt that was in the cache is
    far too high.
    """

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    prefill_tokens_per_s: float | None = None
    decode_tokens_per_s: float | None = None
    load_s: float | None = None
    done_reason: str | None = None


def parse(text: str) -> Final:
    """Read the last answer in a text.

    Raises:
        ParseError: it holds no answer of Ollama's or llama-server's, and no line of --verbose.
    """
    shown = plain(text)
    found = _answered(objects_in(shown)) or _printed(shown) or _answered(_beheaded(shown))
    if found is None and shown.strip():
        raise ParseError("no answer of /api/generate, /api/chat or /v1, no line of --verbose")
    return found or Final()


def _beheaded(text: str) -> tuple[Mapping[str, Any], ...]:
    found = object_from(text, "done")
    return (found,) if found else ()


def _answered(objects: Iterable[Mapping[str, Any]]) -> Final | None:
    final: Final | None = None
    chunks: dict[str, Any] = {}
    for each in objects:
        if type(each.get("done")) is bool:
            final = _native(each) if each["done"] else final or Final()
        elif each.keys() & {"usage", "timings", "choices"}:
            same = each.get("id") == chunks.get("id")
            chunks = {**(chunks if same else {}), **_told(each)}
            final = _compatible(chunks)
    return final


def _native(answer: Mapping[str, Any]) -> Final:
    prompt = count(answer, "prompt_eval_count")
    cached = count(answer, "prompt_eval_cached_count")
    return Final(
        prompt_tokens=prompt,
        cached_tokens=cached,
        prefill_tokens_per_s=_rate(_read(prompt, cached), _time(answer, "prompt_eval_duration")),
        decode_tokens_per_s=_rate(count(answer, "eval_count"), _time(answer, "eval_duration")),
        load_s=_time(answer, "load_duration"),
        done_reason=word(answer, "done_reason"),
    )


def _told(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """What one chunk of a stream, or the only answer, tells; later chunks leave members out."""
    choices = chunk.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else {}
    reason = word(choice, "finish_reason") if isinstance(choice, dict) else None
    found = {"id": chunk.get("id"), "reason": reason}
    found |= {name: typed(chunk, name, dict) or None for name in ("usage", "timings")}
    return {name: value for name, value in found.items() if value is not None}


def _compatible(told: Mapping[str, Any]) -> Final:
    usage, timings = typed(told, "usage", dict), typed(told, "timings", dict)
    details = typed(usage, "prompt_tokens_details", dict)
    prompt, cached = count(usage, "prompt_tokens"), count(details, "cached_tokens")
    read, from_cache = count(timings, "prompt_n"), count(timings, "cache_n")
    if prompt is None and read is not None and from_cache is not None:
        prompt = read + from_cache
    return Final(
        prompt_tokens=prompt,
        cached_tokens=from_cache if cached is None else cached,
        prefill_tokens_per_s=_rate(read, _time(timings, "prompt_ms", _MS)),
        decode_tokens_per_s=_rate(
            count(timings, "predicted_n"), _time(timings, "predicted_ms", _MS)
        ),
        done_reason=word(told, "reason"),
    )


def _printed(text: str) -> Final | None:
    lines: dict[str, str] = {}
    for name, value in _LINE.findall(text):
        lines = {name: value} if name == "total duration" else {**lines, name: value}
    if not lines:
        return None
    prompt = whole_number(lines.get("prompt eval count"))
    cached = whole_number(lines.get("prompt eval cached"))
    read, written = _read(prompt, cached), whole_number(lines.get("eval count"))
    read_rate = _rate(read, _seconds(lines.get("prompt eval duration")))
    write_rate = _rate(written, _seconds(lines.get("eval duration")))
    return Final(
        prompt_tokens=prompt,
        cached_tokens=cached,
        prefill_tokens_per_s=read_rate or _decimal(lines.get("prompt eval rate")),
        decode_tokens_per_s=write_rate or _decimal(lines.get("eval rate")),
        load_s=_seconds(lines.get("load duration")),
    )


def _read(prompt: int | None, cached: int | None) -> int | None:
    return None if prompt is None else prompt - (cached or 0)


def _rate(tokens: int | None, seconds: float | None) -> float | None:
    if not tokens or tokens < 0 or not seconds:
        return None
    rate = tokens / seconds
    return rate if math.isfinite(rate) else None


def _time(members: Mapping[str, Any], name: str, in_a_second: int = _NS) -> float | None:
    value = members.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value / in_a_second if 0 <= value < MOST else None


def _seconds(text: str | None) -> float | None:
    """Go's way to write a duration: 1m23.4s, 4.07ms, 127.582µs."""
    shown = (text or "").replace("\u03bc", "µ")
    if not _DURATION.fullmatch(shown):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(shown))


def _decimal(text: str | None) -> float | None:
    return float(text) if text and _DECIMAL.fullmatch(text) else None
