"""What comes of one prompt twice, in every form that the command prints."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.stack import framed, repetition, reply

from apuhost.probes import ParseError
from apuhost.probes import repetition as probe
from apuhost.probes.ollama_final import Final
from apuhost.probes.prefix_cache import Task
from apuhost.probes.repetition import Repeated, Repetition

QWEN = "qwen3.6:35b-a3b"
DONE = {"done": True, "done_reason": "length", "prompt_eval_count": 110}
LOG = (
    "slot launch_slot_: id  0 | task 7 | processing task\n"
    "slot update_slots: id  0 | task 7 | new prompt, n_ctx_slot = 4096, n_keep = 4, "
    "task.n_tokens = 110\n"
    "slot update_slots: id  0 | task 7 | cached n_tokens = 109, memory_seq_rm [109, end)\n"
)


def one(*told: tuple[str, str]) -> Repeated:
    (found,) = probe.parse(repetition(*((f"{head} {QWEN}", text) for head, text in told))).models
    return found


def test_two_answers_and_what_was_logged_meanwhile() -> None:
    first, second = reply(DONE), reply({**DONE, "prompt_eval_cached_count": 109})
    assert one(("first", first), ("second", second), ("log", LOG)) == Repeated(
        QWEN,
        (
            Final(prompt_tokens=110, done_reason="length"),
            Final(prompt_tokens=110, cached_tokens=109, done_reason="length"),
        ),
        (Task(7, 110, 109, None, forced_full=False),),
        embeds=False,
        error=None,
    )


def test_models_are_told_apart() -> None:
    text = repetition(("first a:1", reply(DONE)), ("log a:1", ""), ("log b:1", LOG))
    assert [
        (each.model, len(each.answers), len(each.tasks)) for each in probe.parse(text).models
    ] == [
        ("a:1", 1, 0),
        ("b:1", 0, 1),
    ]


def test_what_came_before_the_probe_was_cut_counts() -> None:
    came = {"loaded a:1": "", "loaded b:1": "", "first a:1": reply(DONE), "second a:1": reply(DONE)}
    found = probe.parse(framed({"address": "127.0.0.1:1", **came, "end": "cut"}))
    assert [(each.model, len(each.answers)) for each in found.models] == [("a:1", 2), ("b:1", 0)]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(reply({"error": "device lost"}), "no answer of /api/generate", id="words"),
        pytest.param(reply({}, "500 Internal Server Error"), "HTTP 500", id="an HTTP error"),
        pytest.param("HTTP/1.0 200 OK\r\n", "does not speak HTTP", id="cut"),
        pytest.param("", "no answer", id="empty"),
    ],
)
def test_an_answer_that_is_none(answer: str, error: str) -> None:
    found = one(("first", answer), ("log", ""))
    assert (found.answers, found.embeds) == ((), False)
    assert error in (found.error or "")


def test_a_model_that_only_embeds() -> None:
    refused = reply({"error": '"x" does not support generate'}, "400 Bad Request")
    assert one(("first", refused), ("log", "")).embeds


@pytest.mark.parametrize("log", ["", "Error response from daemon: x\n", "\x00\n", "slot \n" * 9])
def test_a_log_that_tells_nothing(log: str) -> None:
    assert one(("log", log)) == Repeated(QWEN, (), (), embeds=False, error=None)


def test_where_nobody_could_be_asked_the_reason_is_there() -> None:
    told = framed({"address": "127.0.0.1:1", "error": "the API does not answer"})
    assert probe.parse(told) == Repetition((), "the API does not answer")


@pytest.mark.parametrize(
    "text", ["", "x", framed({"address": "a"}), "==> 4 end\n\n", framed({"end": "cut"})]
)
def test_an_answer_that_was_cut_is_an_error(text: str) -> None:
    with pytest.raises(ParseError):
        probe.parse(text)


@given(st.text(), st.text(), st.text())
def test_any_text_is_read_or_refused(head: str, answer: str, log: str) -> None:
    with suppress(ParseError):
        probe.parse(head)
    with suppress(ParseError, ValueError):
        probe.parse(repetition((f"first {head}", answer), (f"log {head}", log)))
