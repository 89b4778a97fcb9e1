"""The models in memory, as the API and the client tell them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.samples import sample

from apuhost.probes import ParseError
from apuhost.probes.ollama_ps import Ps, PsModel, parse
from apuhost.probes.plain_text import plain

NOW = datetime(2026, 11, 29, tzinfo=UTC)
DIGEST = "07d35212591f" + "ab" * 26
GIB = 1024**3
LOADED = {
    "name": "qwen3.6:35b-a3b",
    "model": "qwen3.6:35b-a3b",
    "size": 26 * GIB,
    "digest": DIGEST,
    "details": {"family": "qwen35moe", "families": ["qwen35moe"]},
    "expires_at": "2318-09-13T00:38:17.123456789+02:00",
    "size_vram": 25 * GIB,
    "context_length": 262144,
}
FOUND: dict[str, Any] = {
    "name": "qwen3.6:35b-a3b",
    "digest": DIGEST,
    "size": 26 * GIB,
    "size_vram": 25 * GIB,
    "context_length": 262144,
    "expires_at": "2318-09-13T00:38:17.123456789+02:00",
    "forever": True,
}
NEW = """\
NAME               ID              SIZE      PROCESSOR          CONTEXT    UNTIL
qwen3.6:35b-a3b    07d35212591f    27 GB     100% GPU           262144     Forever
hf.co/a/b:Q4_K_M   1234567890ab    986 MB    48%/52% CPU/GPU    4096       4 minutes from now
"""
OLD = """\
NAME            ID              SIZE      PROCESSOR    UNTIL
llama3:8b       365c0bd3c000    6.7 GB    100% CPU     4 minutes from now
"""


def model(**changes: Any) -> PsModel:  # noqa: ANN401
    return PsModel(**{**FOUND, **changes})


def row(name: str, digest: str, **told: Any) -> PsModel:  # noqa: ANN401
    return PsModel(**{**dict.fromkeys(FOUND), "name": name, "digest": digest, **told})


def answer(**changes: Any) -> str:  # noqa: ANN401
    return json.dumps({"models": [{**LOADED, **changes}]})


def without(*names: str) -> str:
    return json.dumps({"models": [{k: v for k, v in LOADED.items() if k not in names}]})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", (), id="empty"),
        pytest.param('{"models":[]}', (), id="none"),
        pytest.param('{"models":null}', (), id="none, null"),
        pytest.param(answer(), (model(),), id="for good"),
        pytest.param(
            answer(expires_at="2026-11-29T00:05:00Z"),
            (model(expires_at="2026-11-29T00:05:00Z", forever=False),),
            id="for minutes",
        ),
        pytest.param(
            answer(expires_at="soon"), (model(expires_at="soon", forever=None),), id="no time"
        ),
        pytest.param(without("context_length"), (model(context_length=None),), id="before 0.10.0"),
        pytest.param(answer(size_vram=0), (model(size_vram=0),), id="on the CPU"),
        pytest.param(
            answer(size="", size_vram=True, context_length=-1, digest="", name=5),
            (model(size=None, size_vram=None, context_length=None, digest=None),),
            id="other types",
        ),
        pytest.param(
            answer()[:-30],
            (model(context_length=None, size_vram=None),),
            id="cut in a number",
        ),
        pytest.param(f"HTTP/1.0 200 OK\r\n\r\n{answer()}%", (model(),), id="curl -i in zsh"),
        pytest.param(
            "\n".join(answer()[at : at + 37] for at in range(0, len(answer()), 37)),
            (model(),),
            id="broken by a terminal",
        ),
        pytest.param(f"{answer()}\n{answer(size=1)}\n", (model(size=1),), id="two: the last"),
    ],
)
def test_answer(text: str, found: tuple[PsModel, ...]) -> None:
    assert parse(text, NOW) == Ps(found)


QWEN = row(
    "qwen3.6:35b-a3b",
    "07d35212591f",
    size=27 * 10**9,
    size_vram=27 * 10**9,
    context_length=262144,
    forever=True,
)
SPLIT = row(
    "hf.co/a/b:Q4_K_M", "1234567890ab", size=986 * 10**6, context_length=4096, forever=False
)
LLAMA = row("llama3:8b", "365c0bd3c000", size=6_700_000_000, size_vram=0, forever=False)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(NEW, (QWEN, SPLIT), id="with the context"),
        pytest.param(OLD, (LLAMA,), id="before 0.10.0"),
        pytest.param(NEW.splitlines()[0], (), id="no model"),
        pytest.param(NEW.splitlines()[1], (QWEN,), id="one line"),
        pytest.param(f"$ ollama ps\n{OLD}$ ollama ps\n{NEW}$", (QWEN, SPLIT), id="two: the last"),
        pytest.param(" ".join(OLD.splitlines()[1].split()), (LLAMA,), id="blanks lost"),
        pytest.param(OLD.replace("4 minutes from now", "Stopping..."), (LLAMA,), id="about to go"),
        pytest.param(
            OLD[:-4],
            (row("llama3:8b", "365c0bd3c000", size=6_700_000_000, size_vram=0),),
            id="cut in its time",
        ),
        pytest.param(
            OLD.partition("    6.7")[0], (row("llama3:8b", "365c0bd3c000"),), id="cut behind the id"
        ),
        pytest.param(f"\x1b[?25l{NEW}\x1b[?25h", (QWEN, SPLIT), id="escape codes"),
    ],
)
def test_table(text: str, found: tuple[PsModel, ...]) -> None:
    assert parse(text, NOW) == Ps(found)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"error":"x"}', id="another answer"),
        pytest.param('{"models":{}}', id="no list"),
        pytest.param('{"models":[1]}', id="no objects"),
        pytest.param('{"models":[{"name":"a","modified_at":"","size":5}]}', id="/api/tags"),
        pytest.param(
            "NAME ID SIZE MODIFIED\nllama3:8b 365c0bd3c000 4.7 GB 2 weeks ago\n", id="ollama list"
        ),
        pytest.param("Error: could not connect to ollama server\n", id="an error"),
    ],
)
def test_something_else(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text, NOW)


def test_a_list_of_llama_server_is_no_list_of_loaded_models() -> None:
    text = sample("api/06-llama-server-v1-models-strings-where-numbers.txt")
    with pytest.raises(ParseError, match="models in a store"):
        parse(text, NOW)


@given(st.text(), st.sampled_from((NEW, OLD, answer())), st.integers(0, 400))
def test_nothing_is_raised_or_invented(noise: str, text: str, end: int) -> None:
    given_text = plain(text[:end] + noise)
    try:
        found = parse(given_text, NOW)
    except ParseError:
        return
    assert all(not each.name or each.name in given_text for each in found.models)
