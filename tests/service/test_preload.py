"""The program that loads models after boot, as the role renders it, against a stub of Ollama."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.hosts import host_facts, settings
from tests.support.ollama_stub import Answer, Stub, free_port, ndjson, ollama

from apuhost import roles
from apuhost.changes import models
from apuhost.derived import derive

QWEN, TINY = "qwen3.6:35b-a3b", "tiny:latest"
LOADED = ndjson({"model": QWEN, "done": True, "done_reason": "load"})
GB = 10**9


def program(
    port: int,
    *names: str,
    keep: int | str = -1,
    parameters: Mapping[str, object] | None = None,
    context: int = 0,
) -> str:
    """The program for these models; it tries five times and does not wait."""
    asked = settings(
        models_list=[
            {"name": name, "preload": True, "parameters": parameters or {}} for name in names
        ],
        ollama_listen=f"127.0.0.1:{port}",
        ollama_keep_alive=keep,
        ollama_context_length=context,
    )
    text = roles.render("models", models.PROGRAM, models.values(derive(asked, host_facts())))
    for text_before, instead in {"{1..120}": "{1..5}", "sleep 2": "sleep 0.1"}.items():
        assert text_before in text
        text = text.replace(text_before, instead)
    return text


def run(folder: Path, text: str) -> "subprocess.CompletedProcess[str]":
    path = folder / "preload"
    path.write_text(text)
    return subprocess.run(
        ["bash", str(path)], capture_output=True, text=True, check=False, timeout=60
    )


def loaded(name: str, size: int, size_vram: int, **members: object) -> dict[str, object]:
    """A model of /api/ps in Ollama's own order of members."""
    return {
        "name": name,
        "model": name,
        "size": size,
        "digest": "c" * 64,
        "details": {
            "parent_model": "",
            "format": "gguf",
            "family": "qwen35moe",
            "families": ["qwen35moe"],
            "parameter_size": "35.5B",
            "quantization_level": "Q4_K_M",
        },
        "expires_at": "2318-12-04T03:03:35.123456789Z",
        "size_vram": size_vram,
        "context_length": 262144,
        **members,
    }


def ps(*found: Mapping[str, object], separators: tuple[str, str] = (",", ":")) -> bytes:
    return json.dumps({"models": found}, separators=separators).encode()


def api(answer: bytes, generate: Answer = LOADED) -> dict[str, Answer]:
    return {
        "/api/version": b'{"version":"0.34.4"}',
        "/api/generate": generate,
        "/api/ps": answer,
    }


WHOLE = loaded(QWEN, 24 * GB, 24 * GB)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(ps(WHOLE), id="as Ollama writes it"),
        pytest.param(ps(WHOLE, separators=(", ", ": ")), id="with blanks"),
        pytest.param(json.dumps({"models": [WHOLE]}, indent=2).encode(), id="on many lines"),
        pytest.param(ps(loaded(QWEN.upper(), 24 * GB, 24 * GB)), id="in another case"),
        pytest.param(
            ps(loaded("other:1", 9, 0), WHOLE, loaded(f"{QWEN}-2", 9, 0)), id="between others"
        ),
        pytest.param(ps({**WHOLE, "details": None}), id="without details"),
        pytest.param(ps({**WHOLE, "details": {"a": {"b": {}}, "size": 1}}), id="nested deeper"),
        pytest.param(ps({**WHOLE, "more": {"size": 1, "name": "x"}}), id="another object after it"),
        pytest.param(
            json.dumps({"models": [WHOLE]}, separators=(",", ":"), sort_keys=True).encode(),
            id="members in another order",
        ),
    ],
)
def test_a_model_that_is_whole_on_the_gpu_is_good(tmp_path: Path, answer: bytes) -> None:
    with ollama(api(answer)) as stub:
        done = run(tmp_path, program(stub.port, QWEN))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{QWEN} is loaded: {24 * GB} bytes, all on the GPU\n"


@pytest.mark.parametrize("keep", [-1, "24h"])
def test_it_is_loaded_anew_and_asked_to_stay(tmp_path: Path, keep: int | str) -> None:
    with ollama(api(ps(WHOLE))) as stub:
        run(tmp_path, program(stub.port, QWEN, keep=keep))
    assert stub.bodies("/api/generate") == [
        {"model": QWEN, "keep_alive": 0},
        {"model": QWEN, "keep_alive": keep},
    ]
    assert "POST /api/generate" in stub.paths


@pytest.mark.parametrize(
    ("found", "told"),
    [
        pytest.param(
            [loaded(QWEN, 24 * GB, 9 * GB)], f"has {9 * GB} of {24 * GB} bytes", id="partly"
        ),
        pytest.param([loaded(QWEN, 24 * GB, 0)], f"has 0 of {24 * GB} bytes", id="on the CPU"),
        pytest.param(
            [{"name": QWEN, "size": 24 * GB}], f"has 0 of {24 * GB} bytes", id="size_vram left out"
        ),
        pytest.param([], "is not loaded", id="nothing is loaded"),
        pytest.param([loaded("other:1", 9, 9)], "is not loaded", id="another one is"),
        pytest.param([loaded(f"{QWEN}-2", 9, 9)], "is not loaded", id="a longer name"),
        pytest.param([loaded(QWEN[:-1], 9, 9)], "is not loaded", id="a shorter name"),
        pytest.param([loaded(f"my/{QWEN}", 9, 9)], "is not loaded", id="another namespace"),
        pytest.param(
            [loaded("qwen3x6:35b-a3b", 9, 9)], "is not loaded", id="what a pattern would match"
        ),
    ],
)
def test_a_model_that_is_not_whole_on_the_gpu_fails(
    tmp_path: Path, found: list[dict[str, object]], told: str
) -> None:
    with ollama(api(ps(*found))) as stub:
        done = run(tmp_path, program(stub.port, QWEN))
    assert done.returncode == 1
    assert f"{QWEN} {told}" in done.stderr


@pytest.mark.parametrize(
    ("layers", "on_gpu", "good"),
    [
        pytest.param(20, 9 * GB, True, id="in part"),
        pytest.param(20, 24 * GB, True, id="in part, and it is whole"),
        pytest.param(20, 0, False, id="in part, and the GPU was not found"),
        pytest.param(0, 0, True, id="on the CPU"),
        pytest.param(-1, 9 * GB, False, id="as Ollama likes"),
    ],
)
def test_a_model_of_a_num_gpu_need_not_be_whole_on_the_gpu(
    tmp_path: Path, layers: int, on_gpu: int, good: bool
) -> None:
    with ollama(api(ps(loaded(QWEN, 24 * GB, on_gpu)))) as stub:
        done = run(tmp_path, program(stub.port, QWEN, parameters={"num_gpu": layers}))
    assert (done.returncode == 0, done.stderr == "") == (good, good)
    shown = "all" if on_gpu == 24 * GB else str(on_gpu)
    told = f"{QWEN} is loaded: {24 * GB} bytes, {shown} on the GPU\n"
    assert done.stdout == (told if good else "")


def test_a_model_of_a_num_gpu_must_be_loaded(tmp_path: Path) -> None:
    with ollama(api(ps())) as stub:
        done = run(tmp_path, program(stub.port, QWEN, parameters={"num_gpu": 0}))
    assert (done.returncode, done.stderr) == (1, f"{QWEN} is not loaded\n")


def test_what_ollama_says_is_told_when_it_cannot_load(tmp_path: Path) -> None:
    error = b'HTTP/1.0 500 Internal Server Error\r\n\r\n{"error":"model requires more memory"}\n'
    with ollama(api(ps(), error)) as stub:
        done = run(tmp_path, program(stub.port, QWEN))
    assert done.returncode == 1
    assert "model requires more memory" in done.stderr
    assert f"{QWEN} is not loaded" in done.stderr


def test_an_ollama_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    port = free_port()
    done = run(tmp_path, program(port, QWEN))
    assert done.returncode == 1
    assert done.stderr == f"Ollama does not answer on 127.0.0.1:{port}\n"


def test_an_ollama_that_looks_for_gpus_is_waited_for(tmp_path: Path) -> None:
    silent = [b"HTTP/1.0 503 Service Unavailable\r\n\r\n"] * 2

    def version(_: bytes) -> bytes:
        return silent.pop() if silent else b'{"version":"0.34.4"}'

    with ollama({**api(ps(WHOLE)), "/api/version": version}) as stub:
        assert run(tmp_path, program(stub.port, QWEN)).returncode == 0


def test_two_models_that_fit_are_good(tmp_path: Path) -> None:
    with ollama(api(ps(loaded(TINY, 7, 7), WHOLE))) as stub:
        done = run(tmp_path, program(stub.port, QWEN, "tiny"))
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(" ")[0] for line in done.stdout.splitlines()] == [QWEN, TINY]


def test_a_model_that_had_to_go_for_the_next_fails(tmp_path: Path) -> None:
    stubs: list[Stub] = []

    def generate(body: bytes) -> bytes:
        name = json.loads(body)["model"]
        stubs[0].answers["/api/ps"] = ps(loaded(name, 7, 7))
        return LOADED

    with ollama(api(ps(), generate)) as stub:
        stubs.append(stub)
        done = run(tmp_path, program(stub.port, QWEN, TINY))
    assert done.returncode == 1
    assert done.stderr == f"{QWEN} is not loaded\n"
    assert done.stdout.startswith(f"{TINY} is loaded")


COPY = "copy:1"


def shown(
    blob: str = "/b/sha256-1", batch: int = 512, more: str = "", **parameters: object
) -> Mapping[str, object]:
    """What /api/show says of a tag on this blob."""
    said = {"top_k": 20, "num_batch": batch, **parameters}
    modelfile = (
        f'# Modelfile generated by "ollama show"\n\nFROM {blob}\n{more}'
        "TEMPLATE {{ .Prompt }}\n"
        + "".join(f"PARAMETER {name} {value}\n" for name, value in said.items())
    )
    return {"modelfile": modelfile, "parameters": f"num_batch      {batch}"}


DRAFT = "DRAFT /b/sha256-3\n"


@pytest.mark.parametrize(
    ("other", "good"),
    [
        pytest.param(shown(), True, id="one runner for both"),
        pytest.param(shown(batch=64), False, id="other parameters"),
        pytest.param(shown(blob="/b/sha256-2"), False, id="other weights"),
        pytest.param({}, False, id="nothing told"),
        pytest.param(shown(num_gpu=-1), True, id="as many layers as fit, said"),
        pytest.param(shown(num_gpu=0), False, id="no layers on the GPU"),
        pytest.param(shown(num_thread=0), True, id="as many threads as Ollama likes, said"),
        pytest.param(shown(num_thread=8), False, id="threads"),
        pytest.param(shown(num_ctx=8192), True, id="the server's own context, said"),
        pytest.param(shown(num_ctx=81920), False, id="another context"),
        pytest.param(shown(draft_num_predict=0), True, id="no drafts, said"),
        pytest.param(shown(draft_num_predict=4), False, id="drafts"),
        pytest.param(shown(more=DRAFT), False, id="a draft model"),
    ],
)
def test_of_two_tags_with_one_runner_ollama_names_one(
    tmp_path: Path, other: Mapping[str, object], good: bool
) -> None:
    tags = {QWEN: shown(), COPY: other}

    def show(body: bytes) -> bytes:
        return json.dumps(tags.get(json.loads(body)["model"], {})).encode()

    found = ps(loaded(TINY, 7, 7), loaded(COPY, 9, 9))
    with ollama({**api(found), "/api/show": show}) as stub:
        done = run(tmp_path, program(stub.port, QWEN, COPY, context=8192))
    told = f"{QWEN} is loaded as {COPY}: 9 bytes, all on the GPU\n" if good else ""
    assert done.stdout == f"{told}{COPY} is loaded: 9 bytes, all on the GPU\n"
    assert done.stderr == ("" if good else f"{QWEN} is not loaded\n")
    assert (done.returncode == 0) is good


@pytest.mark.parametrize(("said", "good"), [(4, True), (0, False)])
def test_a_draft_model_drafts_four_tokens_unsaid(tmp_path: Path, said: int, good: bool) -> None:
    tags = {QWEN: shown(more=DRAFT), COPY: shown(more=DRAFT, draft_num_predict=said)}

    def show(body: bytes) -> bytes:
        return json.dumps(tags[json.loads(body)["model"]]).encode()

    with ollama({**api(ps(loaded(COPY, 9, 9))), "/api/show": show}) as stub:
        done = run(tmp_path, program(stub.port, QWEN))
    assert (done.returncode == 0) is good


def test_one_that_fails_does_not_keep_the_next_from_loading(tmp_path: Path) -> None:
    with ollama(api(ps(WHOLE, loaded(TINY, 7, 0)))) as stub:
        done = run(tmp_path, program(stub.port, TINY, QWEN))
    assert done.returncode == 1
    assert done.stdout.startswith(f"{QWEN} is loaded")


def test_without_models_there_is_nothing_to_do(tmp_path: Path) -> None:
    with ollama(api(ps())) as stub:
        done = run(tmp_path, program(stub.port))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
