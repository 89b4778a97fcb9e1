"""The command that asks every loaded model for a token, against a stub of Ollama."""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.support.asking import printed, ps
from tests.support.ollama_stub import Answer, Stub

from apuhost.probes import generation
from apuhost.probes.generation import Generated

pytestmark = pytest.mark.service

QWEN, TINY = "qwen3.6:35b-a3b", "hf.co/x/Tiny_1:Q4"
TOKEN = b'{"model":"x","response":"Yes","done":true,"eval_count":1}'
SHORT = {f"{generation.ALL_ANSWERS_S} - SECONDS": "4 - SECONDS"}


def asked(folder: Path, answers: Mapping[str, Answer]) -> tuple[generation.Generation, Stub]:
    """What the command prints on a host whose container publishes the stub's port."""
    command = generation.COMMAND
    for text, short in SHORT.items():
        assert text in command
        command = command.replace(text, short)
    text, stub = printed(folder, command, answers)
    return generation.parse(text), stub


def token(model: str, tokens: int = 1) -> Generated:
    return Generated(model, tokens, busy=False, embeds=False, error=None)


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["Go", "with blanks"])
def test_every_loaded_model_is_asked_for_one_token(
    tmp_path: Path, separators: tuple[str, str]
) -> None:
    loaded = ps(QWEN, TINY, separators=separators)
    found, stub = asked(tmp_path, {"/api/ps": loaded, "/api/generate": TOKEN})
    assert found == generation.Generation((token(QWEN), token(TINY)), None)
    assert stub.paths == ["GET /api/ps", "POST /api/generate", "POST /api/generate"]
    assert stub.bodies("/api/generate") == [
        {
            "model": model,
            "prompt": "Say yes.",
            "stream": False,
            "options": {"num_predict": 1},
        }
        for model in (QWEN, TINY)
    ]


def test_nothing_loaded_is_nothing_asked(tmp_path: Path) -> None:
    found, stub = asked(tmp_path, {"/api/ps": b'{"models":[]}'})
    assert (found.models, found.error) == ((), None)
    assert stub.paths == ["GET /api/ps"]


@pytest.fixture
def hours() -> Iterator[threading.Event]:
    """What a request waits for that is not answered as long as the test runs."""
    never = threading.Event()
    yield never
    never.set()


def test_a_model_at_work_for_others_is_busy(tmp_path: Path, hours: threading.Event) -> None:
    def waits(_: bytes) -> bytes:
        hours.wait()
        return TOKEN

    found, stub = asked(tmp_path, {"/api/ps": ps(QWEN, TINY), "/api/generate": waits})
    assert found.models == (
        Generated(QWEN, None, busy=True, embeds=False, error=None),
        Generated(TINY, None, busy=True, embeds=False, error="no time was left"),
    )
    assert stub.paths[-1] == "GET /api/version"


def test_an_api_that_hangs_too_is_no_busy_one(tmp_path: Path, hours: threading.Event) -> None:
    def waits(_: bytes) -> bytes:
        hours.wait()
        return b""

    answers: dict[str, Answer] = {"/api/generate": waits, "/api/version": waits}
    found, _ = asked(tmp_path, {"/api/ps": ps(QWEN), **answers})
    (model,) = found.models
    assert (model.busy, model.error) == (False, "neither a token nor its version")


def test_ollamas_own_words_are_kept(tmp_path: Path) -> None:
    refused = b'HTTP/1.0 400 Bad Request\r\n\r\n{"error":"\\"x\\" does not support generate"}'
    found, _ = asked(tmp_path, {"/api/ps": ps(TINY), "/api/generate": refused})
    assert found.models == (Generated(TINY, None, busy=False, embeds=True, error=None),)


def test_a_server_that_does_not_say_what_is_loaded(tmp_path: Path) -> None:
    found, _ = asked(tmp_path, {"/api/ps": b"HTTP/1.0 503 Busy\r\n\r\n"})
    assert found == generation.Generation((), "GET /api/ps: no list of models")
