"""What comes of asking loaded models for a token, in every form that the command prints."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.stack import framed, generation, reply

from apuhost.probes import ParseError
from apuhost.probes import generation as probe
from apuhost.probes.generation import Generated, Generation

QWEN = "qwen3.6:35b-a3b"
BUSY = Generated(QWEN, None, busy=True, embeds=False, error=None)


def one(head: str, answer: str = "") -> Generated:
    (found,) = probe.parse(generation((f"{head} {QWEN}", answer))).models
    return found


def test_a_token() -> None:
    assert one("reply", reply({"response": "Yes", "eval_count": 1})) == Generated(
        QWEN, 1, busy=False, embeds=False, error=None
    )


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(reply({"done": True}), None, id="no token"),
        pytest.param(reply({"error": "device lost"}), "device lost", id="Ollama's words"),
        pytest.param(reply({}, "500 Internal Server Error"), "HTTP 500", id="an HTTP error"),
        pytest.param(reply([]), "JSON holds a list where an object belongs", id="another type"),
        pytest.param(reply({"eval_count": "1"}), "JSON holds a text", id="a text for a number"),
        pytest.param("HTTP/1.0 200 OK\r\n", "does not speak HTTP", id="cut"),
    ],
)
def test_an_answer_without_a_token(answer: str, error: str | None) -> None:
    found = one("reply", answer)
    assert (found.tokens, found.busy, found.embeds) == (None, False, False)
    assert (error or "") in (found.error or "")
    assert bool(error) == bool(found.error)


def test_what_is_busy_what_is_silent_and_what_nobody_asked() -> None:
    assert one("busy") == BUSY
    assert one("unasked").busy
    assert one("silent") == Generated(
        QWEN, None, busy=False, embeds=False, error="neither a token nor its version"
    )


def test_where_nobody_could_be_asked_the_reason_is_there() -> None:
    told = framed({"address": "127.0.0.1:1", "error": "the API does not answer"})
    assert probe.parse(told) == Generation((), "the API does not answer")


@pytest.mark.parametrize("text", ["", "x", framed({"address": "a"}), "==> 4 end\n\n"])
def test_an_answer_that_was_cut_is_an_error(text: str) -> None:
    with pytest.raises(ParseError):
        probe.parse(text)


@given(st.text(), st.text())
def test_any_text_is_read_or_refused(head: str, text: str) -> None:
    with suppress(ParseError):
        probe.parse(text)
    with suppress(ParseError, ValueError):
        probe.parse(generation((f"reply {head}", text)))
