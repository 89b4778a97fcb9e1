"""The command that gives every loaded model one prompt twice, against a stub of Ollama."""

import json
import threading
from pathlib import Path

import pytest
from tests.support.asking import printed, ps
from tests.support.ollama_stub import Answer, Stub

from apuhost.probes import repetition
from apuhost.probes.ollama_final import Final
from apuhost.probes.prefix_cache import Task
from apuhost.probes.repetition import PROMPT, Repeated, Repetition

pytestmark = pytest.mark.service

QWEN, TINY = "qwen3.6:35b-a3b", "hf.co/x/Tiny_1:Q4"
COUNTS = {"done": True, "done_reason": "stop", "prompt_eval_count": 110}
FINAL = Final(prompt_tokens=110, cached_tokens=109, done_reason="stop")
ANSWER = json.dumps({**COUNTS, "prompt_eval_cached_count": 109}).encode()
SECRET = "a user's prompt"
LOG = f"""\
slot get_availabl: id  0 | task -1 | selected slot by LCP similarity {SECRET}
time=2026-11-29T09:10:00.000Z level=DEBUG msg="chat request" prompt="{SECRET}"
slot   operator(): id  0 | task 9 | new prompt, n_ctx_slot = 4096, n_keep = 4, task.n_tokens = 110
slot   operator(): id  0 | task 9 | cached n_tokens = 109, memory_seq_rm [109, end)
"""
ONE_TASK = (Task(9, 110, 109, None, forced_full=False),)


def asked(folder: Path, log: str = "", **answers: Answer) -> tuple[Repetition, Stub]:
    given = {f"/api/{name}": answer for name, answer in answers.items()}
    text, stub = printed(folder, repetition.COMMAND, given, log)
    assert SECRET not in text
    return repetition.parse(text), stub


def test_every_loaded_model_gets_one_prompt_twice(tmp_path: Path) -> None:
    found, stub = asked(tmp_path, LOG, ps=ps(QWEN, TINY), generate=ANSWER)
    assert found.error is None
    assert found.models == tuple(
        Repeated(model, (FINAL, FINAL), ONE_TASK, embeds=False, error=None)
        for model in (QWEN, TINY)
    )
    assert stub.bodies("/api/generate") == [
        {"model": model, "prompt": PROMPT, "stream": False, "options": {"num_predict": 1}}
        for model in (QWEN, QWEN, TINY, TINY)
    ]


def test_nothing_loaded_is_nothing_asked(tmp_path: Path) -> None:
    found, stub = asked(tmp_path, ps=b'{"models":[]}')
    assert (found, stub.paths) == (Repetition((), None), ["GET /api/ps"])


def test_a_model_that_refuses_is_not_asked_again(tmp_path: Path) -> None:
    refused = b'HTTP/1.0 400 Bad Request\r\n\r\n{"error":"\\"x\\" does not support generate"}'
    found, stub = asked(tmp_path, ps=ps(TINY), generate=refused)
    assert [model.embeds for model in found.models] == [True]
    assert stub.paths == ["GET /api/ps", "POST /api/generate"]


def test_a_model_at_work_for_others_leaves_no_second_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = threading.Event()
    given = [ANSWER]

    def once(_: bytes) -> bytes:
        if not given:
            never.wait()
        return given.pop() if given else b""

    whole = f"$(({repetition.ALL_ANSWERS_S} - SECONDS))"
    assert whole in repetition.COMMAND
    monkeypatch.setattr(
        repetition, "COMMAND", repetition.COMMAND.replace(whole, "$((4 - SECONDS))")
    )
    try:
        found, _ = asked(tmp_path, LOG, ps=ps(QWEN), generate=once)
    finally:
        never.set()
    assert [model.answers for model in found.models] == [(FINAL,)]
    assert [model.tasks for model in found.models] == [()], "its log is not asked for"


def test_what_came_before_the_probe_was_cut_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = threading.Event()

    def of_qwen(body: bytes) -> bytes:
        if QWEN.encode() not in body:
            never.wait()
        return ANSWER

    whole = f"timeout {repetition.ALL_ANSWERS_S + 5} bash"
    assert whole in repetition.COMMAND
    monkeypatch.setattr(repetition, "COMMAND", repetition.COMMAND.replace(whole, "timeout 8 bash"))
    try:
        found, _ = asked(tmp_path, LOG, ps=ps(QWEN, TINY, "b:1"), generate=of_qwen)
    finally:
        never.set()
    assert [(model.model, model.answers, model.tasks) for model in found.models] == [
        (QWEN, (FINAL, FINAL), ONE_TASK),
        (TINY, (), ()),
        ("b:1", (), ()),
    ]


def test_a_server_that_does_not_say_what_is_loaded(tmp_path: Path) -> None:
    found, _ = asked(tmp_path, ps=b"HTTP/1.0 503 Busy\r\n\r\n")
    assert found == Repetition((), "GET /api/ps: no list of models")
