"""How one request went, as the API, its OpenAI-compatible form and the client tell it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.samples import sample

from apuhost.probes import ParseError
from apuhost.probes.ollama_final import Final, parse
from apuhost.probes.plain_text import plain

FINAL = {
    "model": "qwen3.6:35b-a3b",
    "created_at": "2026-11-29T09:14:00.123456789Z",
    "message": {"role": "assistant", "content": ""},
    "done": True,
    "done_reason": "stop",
    "total_duration": 18_700_000_000,
    "load_duration": 50_000_000,
    "prompt_eval_count": 24,
    "prompt_eval_cached_count": 20,
    "prompt_eval_duration": 127_582_000,
    "eval_count": 607,
    "eval_duration": 18_463_421_000,
}
CHUNK = '{"model":"m","message":{"role":"assistant","content":"}{"},"done":false}\n'
USAGE = {"prompt_tokens": 106, "completion_tokens": 9, "total_tokens": 115}
TIMINGS = {"cache_n": 105, "prompt_n": 1, "prompt_ms": 500.0, "predicted_n": 9, "predicted_ms": 90}
VERBOSE = """\
Hello!

total duration:       4.648158766s
load duration:        71.015ms
prompt eval count:    12 token(s)
prompt eval duration: 224.94µs
prompt eval rate:     53347.56 tokens/s
eval count:           240 token(s)
eval duration:        1m4s
eval rate:            3.75 tokens/s
"""


def final(**changes: Any) -> str:  # noqa: ANN401
    return json.dumps({k: v for k, v in {**FINAL, **changes}.items() if v is not None})


def about(text: str) -> tuple[object, ...]:
    """What was found, rates to two digits."""
    found = parse(text)
    numbers = (found.prefill_tokens_per_s, found.decode_tokens_per_s, found.load_s)
    rounded = (None if number is None else round(number, 2) for number in numbers)
    return (found.prompt_tokens, found.cached_tokens, *rounded, found.done_reason)


NOTHING = (None,) * 6
WHOLE = (24, 20, 31.35, 32.88, 0.05, "stop")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", NOTHING, id="empty"),
        pytest.param(final(), WHOLE, id="cached tokens are not read"),
        pytest.param(
            final(prompt_eval_cached_count=None),
            (24, None, 188.11, 32.88, 0.05, "stop"),
            id="before 0.33.3",
        ),
        pytest.param(
            final(prompt_eval_cached_count=0), (24, 0, 188.11, 32.88, 0.05, "stop"), id="cold"
        ),
        pytest.param(CHUNK * 3 + final(), WHOLE, id="a stream"),
        pytest.param(CHUNK * 3, NOTHING, id="a stream without its end"),
        pytest.param(
            final() + CHUNK + final(done_reason="length"),
            (*WHOLE[:5], "length"),
            id="two: the last",
        ),
        pytest.param(json.dumps(json.loads(final()), indent=2), WHOLE, id="jq"),
        pytest.param(f"> curl …\n{final()}%", WHOLE, id="in zsh"),
        pytest.param(f'so."}},{final()[final().index(chr(34) + "done") :]}%', WHOLE, id="head cut"),
        pytest.param(
            final()[:-20], (24, 20, 31.35, None, 0.05, "stop"), id="cut before its last number"
        ),
        pytest.param(
            '{"model":"m","response":"","done":true,"done_reason":"load"}',
            (None, None, None, None, None, "load"),
            id="only loaded",
        ),
        pytest.param(
            final(prompt_eval_cached_count=25), (24, 25, None, 32.88, 0.05, "stop"), id="odd cache"
        ),
        pytest.param(
            final(eval_duration=0, prompt_eval_duration="1", load_duration=-1, eval_count=True),
            (24, 20, None, None, None, "stop"),
            id="other types",
        ),
        pytest.param(
            final(message={"tool_calls": [{"done": True, "eval_count": 1}]}),
            WHOLE,
            id="a tool call",
        ),
    ],
)
def test_own_api(text: str, found: tuple[object, ...]) -> None:
    assert about(text) == found


def completion(**members: Any) -> str:  # noqa: ANN401
    return json.dumps({"id": "chatcmpl-1", "choices": [], **members})


STOPPED = [{"index": 0, "finish_reason": "length", "delta": {}}]
CACHED = {**USAGE, "prompt_tokens_details": {"cached_tokens": 62}}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            completion(choices=STOPPED, usage=USAGE), (106, *NOTHING[:4], "length"), id="usage"
        ),
        pytest.param(completion(usage=CACHED), (106, 62, *NOTHING[:4]), id="cached"),
        pytest.param(
            completion(timings=TIMINGS), (106, 105, 2.0, 100.0, None, None), id="llama-server"
        ),
        pytest.param(
            '{"content":"a","timings":{"prompt_n":5,"prompt_ms":1}}',
            (None, None, 5000.0, None, None, None),
            id="its own, older",
        ),
        pytest.param(
            f"data: {completion(choices=STOPPED)}\n\ndata: {completion(usage=CACHED)}\n\n"
            "data: [DONE]\n",
            (106, 62, None, None, None, "length"),
            id="a stream",
        ),
        pytest.param(
            completion(choices=STOPPED) + completion(id="chatcmpl-2", usage=USAGE),
            (106, *NOTHING[:5]),
            id="two: the last",
        ),
        pytest.param(
            completion(usage=[], timings={"prompt_n": 5, "prompt_ms": 5e-324}, choices=[1]),
            NOTHING,
            id="other types",
        ),
    ],
)
def test_compatible_api(text: str, found: tuple[object, ...]) -> None:
    assert about(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(VERBOSE, (12, None, 53347.56, 3.75, 0.07, None), id="--verbose"),
        pytest.param(
            "eval rate: 3.75 tokens/s\n", (None, None, None, 3.75, None, None), id="one line"
        ),
        pytest.param(VERBOSE + "total duration:       1s\n", NOTHING, id="two: the last"),
        pytest.param(
            VERBOSE.replace("224.94µs", "soon"),
            (12, None, 53347.56, 3.75, 0.07, None),
            id="no time",
        ),
    ],
)
def test_client(text: str, found: tuple[object, ...]) -> None:
    assert about(text) == found


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"error":"model \'x\' not found"}', id="an error"),
        pytest.param('{"models":[]}', id="/api/ps"),
        pytest.param("Hello!\n", id="an answer without --verbose"),
        pytest.param('{"done":"yes"}', id="another thing that is done"),
    ],
)
def test_something_else(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_a_real_final_object_without_its_beginning() -> None:
    text = sample("api/02-chat-final-zsh-percent-no-newline-truncated-head.txt")
    assert about(text) == (14, None, 15.12, 12.57, 0.12, "stop")


@given(st.text(), st.sampled_from((VERBOSE, final(), completion(timings=TIMINGS))), st.integers(0))
def test_nothing_is_raised_or_invented(noise: str, text: str, end: int) -> None:
    given_text = plain(text[:end] + noise)
    try:
        found = parse(given_text)
    except ParseError:
        return
    told = (found.cached_tokens, None if "cache_n" in given_text else found.prompt_tokens)
    assert all(str(number) in given_text for number in told if number)
    assert not found.done_reason or found.done_reason in given_text


def test_the_record_of_nothing_is_all_null() -> None:
    assert parse(" \n") == Final()
