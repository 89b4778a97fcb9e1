"""The stand-in as a process: how it starts, and how it pulls models over TLS.

llama-server is a fake here; with the real one: test_standin_container.py.
"""

import json
import shutil
import socket
import threading

import pytest
from tests.service.conftest import Machine
from tests.support.standin_server import Registry

from apuhost.probes import ollama_log


def test_section_2_3_the_start_in_its_order(machine: Machine) -> None:
    with machine.start(OLLAMA_NO_CLOUD="1") as server:
        messages = [
            line.partition("msg=")[2] for line in server.log.read_text().splitlines()
            if line.startswith("time=")
        ]  # fmt: skip
        wanted = ['"server config"', '"Ollama cloud disabled: true"', '"total blobs: 0"',
                  '"total unused blobs removed: 0"', '"Listening on 127.0.0.1:',
                  '"discovering available GPUs..."', '"inference compute"',
                  '"vram-based default context"']  # fmt: skip
        assert [message[: len(start)] for message, start in zip(messages, wanted, strict=True)] == (
            wanted
        )


@pytest.mark.parametrize(
    ("environ", "dropped"),
    [({"OLLAMA_IGPU_ENABLE": ""}, 1), ({"OLLAMA_VULKAN": "0"}, 0),
     ({"OLLAMA_LLM_LIBRARY": "cuda_v12"}, 0)],
    ids=["iGPU not enabled", "Vulkan off", "another library"],
)  # fmt: skip
def test_section_2_3_ways_to_lose_the_gpu(
    machine: Machine, environ: dict[str, str], dropped: int
) -> None:
    with machine.start(**environ) as server:
        found = ollama_log.parse(server.log.read_text())
        assert [device.library for device in found.devices] == ["cpu"]
        assert len(found.dropped) == dropped
        assert found.default_num_ctx == 4096


def test_without_a_render_node_there_is_no_gpu(machine: Machine) -> None:
    shutil.rmtree(machine.folder / "dri")
    with machine.start() as server:
        found = ollama_log.parse(server.log.read_text())
        assert [device.library for device in found.devices] == ["cpu"]


def test_section_1_text_that_is_no_number_is_warned_of(machine: Machine) -> None:
    with machine.start(OLLAMA_NUM_PARALLEL="two") as server:
        assert (
            'level=WARN source=config.go:1 msg="invalid environment variable, using default"'
            " key=OLLAMA_NUM_PARALLEL value=two default=1"
        ) in server.log.read_text()


def test_section_5_2_a_pull_over_tls(machine: Machine, registry: Registry) -> None:
    name = registry.name("tiny")
    with machine.start() as server:
        statuses = [line["status"] for line in server.post("/api/pull", model=name)]
        assert statuses[0] == "pulling manifest"
        assert statuses[-3:] == ["verifying sha256 digest", "writing manifest", "success"]
        (listed,) = server.get("/api/tags")["models"]
        assert (listed["name"], listed["digest"]) == (
            f"{name}:latest",
            registry.digests["tiny:latest"],
        )
        again = server.post("/api/pull", model=name, stream=False)
        assert again == [{"status": "success"}]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("nothing", "pull model manifest: file does not exist"),
        ("needs-newer", "pull model manifest: 412: \n\nThe model you are attempting to pull"
         " requires a newer version of Ollama."),
    ],
)  # fmt: skip
def test_section_4_a_pull_that_fails_says_so_in_the_stream(
    machine: Machine, registry: Registry, model: str, reason: str
) -> None:
    with machine.start() as server:
        first, last = server.post("/api/pull", model=registry.name(model))
        assert first == {"status": "pulling manifest"}
        assert last["error"].startswith(reason)
        status, _ = server.ask(
            "POST", "/api/pull", {"model": registry.name(model), "stream": False}
        )
        assert status == 500


@pytest.mark.parametrize(
    ("environ", "insecure", "reason"),
    [
        ({"SSL_CERT_DIR": "/nowhere"}, False,
         "tls: failed to verify certificate: x509: certificate signed by unknown authority"),
        ({}, True, "400: "),
    ],
    ids=["a CA that nobody trusts", "plain HTTP to a TLS port"],
)  # fmt: skip
def test_section_5_2_a_registry_that_cannot_be_talked_to(
    machine: Machine, registry: Registry, environ: dict[str, str], insecure: bool, reason: str
) -> None:
    with machine.start(SSL_CERT_FILE="/nowhere", **environ) as server:
        _, last = server.post("/api/pull", model=registry.name("tiny"), insecure=insecure)
        assert last["error"].startswith("pull model manifest: ")
        assert insecure or reason in last["error"]


def test_a_proxy_that_wants_a_password(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def refuse() -> None:
            connection, _ = proxy.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")

        threading.Thread(target=refuse, daemon=True).start()
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        with machine.start(HTTPS_PROXY=address) as server:
            _, last = server.post("/api/pull", model="registry.invalid/library/tiny")
    assert last["error"] == (
        'pull model manifest: Get "https://registry.invalid/v2/library/tiny/manifests/latest":'
        " Proxy Authentication Required"
    )


def test_section_5_2_a_download_goes_on_where_it_stopped(
    machine: Machine, registry: Registry
) -> None:
    name = registry.name("tiny")
    with machine.start() as server:
        server.post("/api/pull", model=name)
        server.stop()
    (blob,) = (path for path in (machine.store / "blobs").iterdir() if path.stat().st_size > 10**5)
    whole = blob.read_bytes()
    blob.unlink()
    blob.with_name(f"{blob.name}-partial").write_bytes(whole[:1000] + bytes(len(whole) - 1000))
    part = {"N": 0, "Offset": 0, "Size": len(whole), "Completed": 1000}
    blob.with_name(f"{blob.name}-partial-0").write_text(json.dumps(part))
    with machine.start() as server:
        told = [line["completed"] for line in server.post("/api/pull", model=name)
                if "completed" in line]  # fmt: skip
        assert told[0] > 1000
    assert blob.read_bytes() == whole
    assert not list(blob.parent.glob("*-partial*"))


def test_section_5_2_a_blob_that_is_not_what_it_should_be_is_thrown_away(
    machine: Machine, registry: Registry
) -> None:
    name = registry.name("tiny")
    with machine.start() as server:
        server.post("/api/pull", model=name)
        server.stop()
    (blob,) = (path for path in (machine.store / "blobs").iterdir() if path.stat().st_size > 10**5)
    size = blob.stat().st_size
    blob.unlink()
    blob.with_name(f"{blob.name}-partial").write_bytes(bytes(size))
    part = {"N": 0, "Offset": 0, "Size": size, "Completed": size}
    blob.with_name(f"{blob.name}-partial-0").write_text(json.dumps(part))
    with machine.start() as server:
        last = server.post("/api/pull", model=name)[-1]
    assert last["error"].startswith("digest mismatch, file must be downloaded again: want sha256:")
    assert not blob.exists()
