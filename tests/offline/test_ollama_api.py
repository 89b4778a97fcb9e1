"""What Ollama's HTTP answers tell, and what is made of answers that are not Ollama's."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, http_reply, ollama_api
from apuhost.probes.files import TextFile, frame
from apuhost.probes.ollama_api import ListedModel, LoadedModel, OllamaApi

HEAD = "HTTP/1.0 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n"
NOW = datetime(2026, 11, 30, tzinfo=UTC)
TAGS = {
    "models": [
        {
            "name": "qwen3.6:35b",
            "model": "qwen3.6:35b",
            "modified_at": "2026-09-20T10:00:00.123456789+02:00",
            "size": 23_938_333_344,
            "digest": "ab" * 32,
            "details": {"format": "gguf", "families": ["qwen35moe"]},
        }
    ]
}
LOADED: dict[str, Any] = {
    "name": "qwen3.6:35b",
    "model": "qwen3.6:35b",
    "size": 30_000_000_000,
    "digest": "ab" * 32,
    "expires_at": "2318-10-07T10:00:00.854775807Z",
    "size_vram": 30_000_000_000,
    "context_length": 32768,
}


def reply(value: object) -> str:
    """An answer as Go's server gives it to HTTP/1.0."""
    text = json.dumps(value)
    return f"{HEAD}Content-Length: {len(text)}\r\n\r\n{text}"


def answers(**texts: str) -> str:
    """COMMAND's output; the answers by the last word of their paths."""
    given = {"version": reply({"version": "0.34.4"}), "tags": reply(TAGS)}
    given["ps"] = reply({"models": [LOADED]})
    return frame(
        (
            TextFile("address", "127.0.0.1:11434"),
            *(TextFile(f"/api/{name}", text) for name, text in {**given, **texts}.items()),
        )
    )


MODEL = LoadedModel(
    name="qwen3.6:35b",
    digest="ab" * 32,
    size=30_000_000_000,
    size_vram=30_000_000_000,
    expires_at="2318-10-07T10:00:00.854775807Z",
    context_length=32768,
)


def test_a_server_at_work() -> None:
    assert ollama_api.parse(answers()) == OllamaApi(
        address="127.0.0.1:11434",
        answered=True,
        version="0.34.4",
        models=(ListedModel("qwen3.6:35b", "ab" * 32, 23_938_333_344),),
        loaded=(MODEL,),
        error=None,
    )


def test_a_server_without_models() -> None:
    found = ollama_api.parse(answers(tags=reply({"models": None}), ps=reply({"models": []})))
    assert (found.models, found.loaded, found.error) == ((), (), None)


@pytest.mark.parametrize(
    ("expires_at", "keeps"),
    [
        ("2318-10-07T10:00:00.854775807Z", True),
        ("2318-10-07T10:00:00.854775807+02:00", True),
        ("2318-10-07T10:00:00", True),
        ("2026-11-30T00:05:00Z", False),
        ("2026-11-29T00:00:00.5Z", False),
        ("0001-01-01T00:00:00Z", False),
        ("0001-01-01T00:00:00+14:00", False),
        ("9999-12-31T23:59:59-14:00", True),
        ("", False),
        ("forever", False),
    ],
)
def test_a_model_that_stays_expires_in_centuries(expires_at: str, keeps: bool) -> None:
    model = LoadedModel("m:latest", "", 1, 1, expires_at, None)
    assert model.keeps(NOW) is keeps


def test_an_older_server_tells_no_context_length() -> None:
    old = {name: value for name, value in LOADED.items() if name != "context_length"}
    found = ollama_api.parse(answers(ps=reply({"models": [old]})))
    assert found.loaded is not None
    assert found.loaded[0].context_length is None


@pytest.mark.parametrize(
    "reason", ["docker does not answer", "no container runs Ollama", "its container is exited"]
)
def test_where_there_is_nothing_to_ask_the_reason_is_told(reason: str) -> None:
    found = ollama_api.parse(frame((TextFile("error", reason),)))
    assert found == OllamaApi(None, False, None, None, None, reason)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("", "no answer", id="silence"),
        pytest.param("SSH-2.0-OpenSSH_10.0\r\n", "does not speak HTTP", id="another protocol"),
        pytest.param("HTTP/1.0 200 OK\r\n", "does not speak HTTP", id="no end of the head"),
        pytest.param("HTTP/1.1 502 Bad Gateway\r\n\r\n", "HTTP 502", id="a proxy's error"),
        pytest.param(f"{HEAD}\r\n<html>", "no JSON", id="a web page"),
        pytest.param(f"{HEAD}\r\n[]", "a list where an object", id="a list"),
        pytest.param(f"{HEAD}\r\n{{}}", "no version", id="another program's object"),
        pytest.param(reply({"version": 1}), "a whole number where a text", id="another type"),
        pytest.param(f"{HEAD}\r\n\udcff", "no UTF-8", id="bytes"),
        pytest.param(reply({"version": "1"})[:-1], "cut after 15 of 16 bytes", id="cut"),
    ],
)
def test_what_does_not_tell_its_version_did_not_answer(text: str, error: str) -> None:
    found = ollama_api.parse(answers(version=text))
    assert (found.answered, found.version) == (False, None)
    assert found.error is not None
    assert found.error.startswith("GET /api/version: ")
    assert error in found.error


def test_llama_server_is_not_ollama() -> None:
    found = ollama_api.parse(answers(tags=reply({"models": [{"name": "a.gguf", "size": ""}]})))
    assert (found.answered, found.models, found.loaded) == (True, None, (MODEL,))
    assert found.error == "GET /api/tags: JSON holds a text where a whole number belongs"


def test_an_error_object_is_not_an_empty_list() -> None:
    found = ollama_api.parse(answers(ps=reply({"error": "no"})))
    assert (found.loaded, found.error) == (None, "GET /api/ps: no models in it")


def test_after_an_unanswered_question_the_others_were_not_asked() -> None:
    text = frame((TextFile("address", "[::1]:11434"), TextFile("/api/version", "")))
    assert ollama_api.parse(text) == OllamaApi(
        "[::1]:11434", False, None, None, None, "GET /api/version: no answer"
    )


CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("HTTP/1.0 200 OK\r\n\r\n", ""),
        ("HTTP/1.1 200\r\nX: y\r\n\r\nä", "ä"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", "ab"),
        ("HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\nab", "ab"),
        (f"{CHUNKED}0\r\n\r\n", ""),
        (f'{CHUNKED}2\r\n{{"\r\nA;x=y\r\na": "b\\n"}}\r\n0\r\n\r\n', '{"a": "b\\n"}'),
    ],
)
def test_the_body_of_an_answer(text: str, body: str) -> None:
    assert http_reply.body(text) == body


@pytest.mark.parametrize("text", ["", "4\r\nab", "4\r\nabcd\r\n", "x\r\n", "f" * 9 + "\r\n"])
def test_chunks_without_the_last_one_are_cut(text: str) -> None:
    with pytest.raises(ParseError, match="cut"):
        http_reply.body(CHUNKED + text)


@pytest.mark.parametrize("text", ["", "==> 3 address\nabc", frame((TextFile("/api/ps", "x"),))])
def test_an_output_without_address_and_reason_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        ollama_api.parse(text)


PIECES = ["HTTP/1.1 200 OK\r\n", "\r\n", "Content-Length: 3\r\n", "2\r\n{}\r\n", '{"models":[{']
PIECES += ["Transfer-Encoding: chunked\r\n", '{"version":"1"}', "}]}", '"size":', "\udcff", "1"]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5)).map("".join))
def test_no_answer_raises_anything_else(text: str) -> None:
    with suppress(ParseError):
        found = ollama_api.parse(answers(version=text, tags=text, ps=text))
        assert found.error is None or "\n" not in found.error
