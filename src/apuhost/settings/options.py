"""Ollama's options, as a model's parameters: one that it does not know it ignores in silence.

Names: api/types.go of 0.33. Ollama hands numbers on as they are; a negative one is right only where
it means something to Ollama or llama.cpp (facts/ollama.md sections 3 and 4).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apuhost.nearest import hint
from apuhost.settings import rewriting

LARGEST = 2**31 - 1

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Allowed:
    """What an option takes, in words and as a question."""

    words: str
    holds: Callable[[object], bool]


def fault(name: object, value: object) -> str:
    """What is wrong with an option, in words; "" where nothing is."""
    if not isinstance(name, str) or name not in OPTIONS:
        return f"Ollama has no option {name!a}{hint(str(name), OPTIONS)}"
    allowed = OPTIONS[name]
    if allowed.holds(value):
        return ""
    return f"{name} takes {allowed.words}{rewriting.hint(value, allowed.holds)}"


def _whole(least: int, most: int = LARGEST) -> Allowed:
    # A bool is an int in Python, never in Ollama.
    return Allowed(
        f"a whole number, {least} to {most}",
        lambda value: type(value) is int and least <= value <= most,
    )


def _number(least: int, most: int = LARGEST) -> Allowed:
    return Allowed(
        f"a number, {least} to {most}",
        lambda value: (type(value) is int or type(value) is float) and least <= value <= most,
    )


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, str) and not _SURROGATE.search(each) for each in value
    )


_SWITCH = Allowed("True or False", lambda value: isinstance(value, bool))
_SHARE = _number(0, 1)
_PENALTY = _number(-2, 2)
"""Below 0 it rewards what was said before, as OpenAI's API has it."""

OPTIONS: Mapping[str, Allowed] = {
    "draft_num_predict": _whole(0),
    "frequency_penalty": _PENALTY,
    "main_gpu": _whole(0),
    "min_p": _SHARE,
    "mirostat": _whole(0, 2),
    "mirostat_eta": _number(0),
    "mirostat_tau": _number(0),
    "num_batch": _whole(1),
    "num_ctx": _whole(1),
    "num_gpu": _whole(-1),  # -1: as many layers as fit
    "num_keep": _whole(-1),  # -1: the whole prompt
    "num_predict": _whole(-2),  # -1: without end; -2: until the context is full
    "num_thread": _whole(0),
    "penalize_newline": _SWITCH,
    "presence_penalty": _PENALTY,
    "repeat_last_n": _whole(-1),  # -1: the whole context
    "repeat_penalty": _number(0),
    "seed": _whole(-1),  # -1: another one each time
    "stop": Allowed("a list of texts, without half a character", _texts),
    "temperature": _number(0),
    "tfs_z": _number(0),
    "top_k": _whole(0),
    "top_p": _SHARE,
    "typical_p": _SHARE,
    "use_mmap": _SWITCH,
}
