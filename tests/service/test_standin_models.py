"""The stand-in runs models: loads, keeps, reloads and unloads them, takes other parameters.

llama-server is a fake here; with the real one: test_standin_container.py.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.service.conftest import Machine
from tests.support.standin_server import STANDIN, Registry, Server

from apuhost.probes import model_manifest, ollama_log, runners
from apuhost.rehearsal.standin.sizes import MIB

TWENTY_YEARS = 20 * 365 * 24 * 3600


@contextmanager
def tiny_and_other(machine: Machine, registry: Registry) -> Iterator[Server]:
    """Two models that share a blob, under short names; kept forever."""
    with machine.start(OLLAMA_KEEP_ALIVE="-1", OLLAMA_CONTEXT_LENGTH="8192") as found:
        for model in ("tiny", "other"):
            found.post("/api/pull", model=registry.name(model))
            copied = {"source": registry.name(model), "destination": model}
            assert found.ask("POST", "/api/copy", copied) == (200, b"")
        yield found


@pytest.fixture
def server(machine: Machine, registry: Registry) -> Iterator[Server]:
    with tiny_and_other(machine, registry) as found:
        yield found


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory, registry: Registry) -> Iterator[Server]:
    """For tests that change nothing."""
    machine = Machine(tmp_path_factory.mktemp("standing"), registry)
    with tiny_and_other(machine, registry) as found:
        yield found


def flag(server: Server, name: str) -> str | None:
    """The one runner's value of a flag."""
    ((_, command),) = server.runners().items()
    return command[command.index(name) + 1] if name in command else None


def test_section_4_an_empty_prompt_loads_and_it_stays_for_centuries(server: Server) -> None:
    answer = server.generate("tiny")
    assert (answer["response"], answer["done"], answer["done_reason"]) == ("", True, "load")
    (loaded,) = server.loaded()
    assert (loaded["name"], loaded["context_length"]) == ("tiny:latest", 8192)
    assert loaded["size"] == loaded["size_vram"] == 3 * MIB
    left = datetime.fromisoformat(loaded["expires_at"]) - datetime.now(UTC)
    assert left.total_seconds() > TWENTY_YEARS


def test_section_4_a_prompt_is_answered_in_pieces_the_last_with_metrics(standing: Server) -> None:
    first, *_, last = standing.post("/api/generate", model="tiny", prompt="the")
    assert list(first) == ["model", "created_at", "response", "done"]
    assert list(last) == [
        "model", "created_at", "response", "done", "done_reason", "context", "total_duration",
        "load_duration", "prompt_eval_count", "prompt_eval_cached_count", "prompt_eval_duration",
        "eval_count", "eval_duration",
    ]  # fmt: skip
    assert (last["prompt_eval_count"], last["prompt_eval_cached_count"]) == (5, 2)
    assert (last["eval_count"], last["eval_duration"]) == (2, 2_500_000)
    assert last["total_duration"] >= last["load_duration"] > 0


def test_section_4_a_chat_is_answered_whole(standing: Server) -> None:
    messages = [{"role": "user", "content": "the"}]
    (answer,) = standing.post("/api/chat", model="tiny", messages=messages, stream=False)
    assert answer["message"] == {"role": "assistant", "content": " quick host"}
    assert (answer["done_reason"], "context" in answer) == ("length", False)


def test_section_3_3_our_parsers_read_runner_and_log(server: Server) -> None:
    server.generate("tiny")
    found = ollama_log.parse(server.log.read_text())
    ((_, command),) = server.runners().items()
    assert runners.parse(" ".join(command)).runners == found.runners
    assert found.layers is not None
    assert (found.layers.offloaded, found.layers.total) == (3, 3)
    assert not found.vram_tracking_failed


def test_section_5_1_parameters_set_under_the_same_name(server: Server, registry: Registry) -> None:
    before = {each["digest"] for each in manifest(server, registry)["layers"]}
    statuses = server.post("/api/create", model="tiny", **{"from": "tiny"},
                           parameters={"num_batch": 512})  # fmt: skip
    assert statuses[-1] == {"status": "success"}
    layers = server.post("/api/show", model="tiny")[0]
    assert "num_batch                      512" in layers["parameters"]
    assert "temperature                    0.7" in layers["parameters"]
    server.generate("tiny")
    assert (flag(server, "-b"), flag(server, "-ub")) == ("512", "512")
    after = manifest_of(server, "registry.ollama.ai/library/tiny/latest")["layers"]
    kept = [each["digest"] for each in after if not each["mediaType"].endswith(".params")]
    assert set(kept) == {digest for digest in before if digest in kept}
    assert len(kept) == len(before) - 1


def test_section_5_1_a_manifest_that_was_made_here_says_where_its_layers_are_from(
    server: Server, registry: Registry
) -> None:
    path = server.log.parent / "models" / "manifests" / "registry.ollama.ai/library/tiny/latest"
    assert {layer.origin for layer in model_manifest.parse(path.read_text()).layers} == {""}
    server.post("/api/create", model="tiny", **{"from": "tiny"}, parameters={"num_batch": 512})
    made = model_manifest.parse(path.read_text()).layers
    assert {layer.origin for layer in made if not layer.is_params} == {"tiny:latest"}


def manifest_of(server: Server, path: str) -> dict[str, list[dict[str, str]]]:
    """A manifest of the server's store."""
    file = server.log.parent / "models" / "manifests" / path
    found: dict[str, list[dict[str, str]]] = json.loads(file.read_bytes())
    return found


def manifest(server: Server, registry: Registry) -> dict[str, list[dict[str, str]]]:
    """As it was pulled."""
    return manifest_of(server, f"127.0.0.1:{registry.port}/library/tiny/latest")


def test_section_4_tags_tell_the_manifest_file_s_digest(server: Server, registry: Registry) -> None:
    digests = {model["name"]: model["digest"] for model in server.get("/api/tags")["models"]}
    assert digests["tiny:latest"] == registry.digests["tiny:latest"]
    server.post("/api/create", model="tiny", **{"from": "tiny"}, parameters={"num_batch": 512})
    digests = {model["name"]: model["digest"] for model in server.get("/api/tags")["models"]}
    assert digests["tiny:latest"] != registry.digests["tiny:latest"]


def test_section_3_4_two_tags_on_one_blob_reload_each_other(server: Server) -> None:
    server.generate("tiny")
    (first,) = server.runners()
    server.generate("tiny")
    assert list(server.runners()) == [first]
    server.generate("other")
    (second,) = server.runners()
    assert second != first
    assert (flag(server, "-c"), flag(server, "-b")) == ("4096", "256")
    assert [loaded["name"] for loaded in server.loaded()] == ["other:latest"]


def test_section_3_4_an_option_of_a_request_reloads(server: Server) -> None:
    server.generate("tiny")
    server.generate("tiny", options={"num_ctx": 2048})
    assert flag(server, "-c") == "2048"


def test_section_3_3_without_layers_on_the_gpu_all_is_on_the_cpu(server: Server) -> None:
    server.generate("tiny", options={"num_gpu": 0})
    (loaded,) = server.loaded()
    assert (flag(server, "-ngl"), flag(server, "--load-mode")) == ("0", "none")
    assert (loaded["size"], loaded["size_vram"]) == (3 * MIB, 0)
    (pid,) = server.runners()
    environ = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"GGML_BACKEND_PATH" not in environ
    assert b"LLAMA_MEDIA_MARKER" in environ


@pytest.mark.parametrize(
    ("path", "empty"), [("/api/generate", "prompt"), ("/api/chat", "messages")]
)
def test_section_4_keep_alive_0_unloads(server: Server, path: str, empty: str) -> None:
    server.generate("tiny")
    (answer,) = server.post(path, model="tiny", keep_alive=0)
    assert answer["done_reason"] == "unload"
    assert server.loaded() == []
    assert server.runners() == {}


def test_section_3_4_a_request_s_keep_alive_wins(server: Server) -> None:
    server.generate("tiny", keep_alive="1s")
    until = time.monotonic() + 20
    while server.loaded():
        assert time.monotonic() < until
        time.sleep(0.2)


def test_a_model_that_cannot_be_loaded_says_why(server: Server, registry: Registry) -> None:
    server.post("/api/pull", model=registry.name("hybrid"))
    answer = server.generate(registry.name("hybrid"), options={"draft_num_predict": 66})
    assert answer == {
        "error": "llama-server process has terminated: exit status 1:"
        " llama_init_from_model: made to fail"
    }


def test_section_1_a_load_that_falls_silent_is_given_up(
    machine: Machine, registry: Registry
) -> None:
    with machine.start(OLLAMA_LOAD_TIMEOUT="1s", FAKE_LOAD_SECONDS="30") as server:
        server.post("/api/pull", model=registry.name("tiny"))
        answer = server.generate(registry.name("tiny"))
        assert answer == {"error": "timed out waiting for llama-server to start - "}
        assert server.runners() == {}


def test_section_4_a_full_queue_is_service_unavailable(
    machine: Machine, registry: Registry
) -> None:
    with machine.start(OLLAMA_MAX_QUEUE="0", FAKE_LOAD_SECONDS="3") as server:
        for model in ("tiny", "hybrid"):
            server.post("/api/pull", model=registry.name(model))
        first = threading.Thread(target=server.generate, args=[registry.name("tiny")])
        first.start()
        time.sleep(1)
        status, answer = server.ask("POST", "/api/generate", {"model": registry.name("hybrid")})
        first.join()
    assert status == 503
    assert json.loads(answer)["error"].startswith("server busy, please try again.  maximum")


def test_a_model_whose_blob_is_missing_is_listed_and_answers_nothing(server: Server) -> None:
    blobs = server.log.parent / "models" / "blobs"
    max(blobs.iterdir(), key=lambda path: path.stat().st_size).unlink()
    listed = {model["name"]: model["capabilities"] for model in server.get("/api/tags")["models"]}
    assert listed["tiny:latest"] == []
    assert server.generate("tiny") == {"error": '"tiny" does not support generate'}


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/api/generate", {"model": "none"}, 404, "model 'none' not found"),
        ("/api/chat", {"model": "none"}, 404, "model 'none' not found"),
        ("/api/show", {"model": "none"}, 404, "model 'none:latest' not found"),
        ("/api/copy", {"source": "none", "destination": "x"}, 404, 'model "none" not found'),
        ("/api/delete", {"model": "none"}, 404, "model 'none' not found"),
        ("/api/generate", {"model": "tiny", "options": {"num_ctx": "x"}}, 500,
         'option "num_ctx" must be of type integer'),
        ("/api/chat", None, 400, "missing request body"),
        ("/api/create", {"model": "x"}, 400, "neither 'from' or 'files' was specified"),
        ("/api/generate", {"model": "tiny", "prompt": "a", "think": True}, 400,
         '"tiny" does not support thinking'),
    ],
)  # fmt: skip
def test_section_4_refusals(
    standing: Server, path: str, body: dict[str, object] | None, status: int, message: str
) -> None:
    found, answer = standing.ask("DELETE" if path == "/api/delete" else "POST", path, body)
    assert (found, json.loads(answer)) == (status, {"error": message})


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("GET", "/api/nothing", 404),
        ("GET", "/api/pull", 405),
    ],
)
def test_other_paths_and_methods(standing: Server, method: str, path: str, status: int) -> None:
    assert standing.ask(method, path)[0] == status


def test_section_4_blobs_are_taken_once_and_checked(standing: Server) -> None:
    data, digest = b"{}", "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    path = f"/api/blobs/{digest}"
    assert json.dumps({}).encode() == data
    assert standing.ask("HEAD", path)[0] == 404
    assert standing.ask("POST", "/api/blobs/sha256:" + "0" * 64, {})[0] == 400
    assert standing.ask("HEAD", "/api/blobs/md5:0")[0] == 400


def test_section_4_deleting_a_tag_keeps_blobs_that_another_needs(server: Server) -> None:
    blobs = server.log.parent / "models" / "blobs"
    before = set(blobs.iterdir())
    assert server.ask("DELETE", "/api/delete", {"model": "tiny"}) == (200, b"")
    assert set(blobs.iterdir()) == before
    assert "tiny:latest" not in {model["name"] for model in server.get("/api/tags")["models"]}


def test_sigterm_ends_the_server_and_its_runner(server: Server) -> None:
    server.generate("tiny")
    assert server.stop() == 0
    assert server.runners() == {}


def test_section_6_the_health_check_is_the_command_line(server: Server) -> None:
    environ = {"OLLAMA_HOST": f"0.0.0.0:{server.port}"}
    command = [sys.executable, str(STANDIN), "list"]
    listed = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert listed.stdout.splitlines()[0].split() == ["NAME", "ID", "SIZE", "MODIFIED"]
    assert "tiny:latest " in listed.stdout
    server.stop()
    refused = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert refused.stderr == (
        "Error: could not connect to ollama server, run 'ollama serve' to start it\n"
    )
