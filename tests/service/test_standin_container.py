"""The stand-in's image itself, unpacked: the real llama-server and RADV on a simulated GPU.

Where a rehearsal has built the image, and this is root; nothing is downloaded for a test.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import standin_server
from tests.support.standin_server import Registry, Server

from apuhost.probes import ollama_log, prefix_cache
from apuhost.probes.repetition import PROMPT
from apuhost.rehearsal import image, ports, standin_image, state

# A namespace of mounts and processes: what is mounted and started ends with it.
_ENTER = """
mount --bind "$1" "$1" && cd "$1" && mount -t proc proc proc && mount -t tmpfs dev dev &&
mkdir -p dev/shm dev/dri var/tmp && touch dev/dri/renderD128 || exit
for node in null zero urandom; do touch dev/$node && mount --bind /dev/$node dev/$node || exit; done
shift
exec chroot . /bin/ollama "$@"
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = standin_image.cached(state.cache_directory())
    if os.geteuid() != 0 or found is None:
        pytest.skip("needs root and the stand-in's image, which a rehearsal builds")
    root = tmp_path_factory.mktemp("root")
    for layer in found.layers:
        subprocess.run(["tar", "--zstd", "-xf", layer, "-C", root], check=True)
    return root


@pytest.fixture(scope="module")
def server(
    tree: Path, registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    (port,) = ports.free(1)
    (tree / "etc/ssl/certs/site.crt").write_bytes(registry.ca.read_bytes())
    environ = {
        "HOME": "/root", "OLLAMA_HOST": f"127.0.0.1:{port}", "OLLAMA_IGPU_ENABLE": "1",
        "OLLAMA_KEEP_ALIVE": "-1", "OLLAMA_CONTEXT_LENGTH": "262144", "LLAMA_ARG_CACHE_RAM": "512",
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
    }  # fmt: skip
    command = [*image.as_root(), "sh", "-c", _ENTER, "-", str(tree), "serve"]
    log = tmp_path_factory.mktemp("log") / "server.log"
    with standin_server.serving(command, environ, log, port) as found:
        for model in ("tiny", "tiny:vision", "hybrid"):
            assert found.post("/api/pull", model=registry.name(model))[-1] == {"status": "success"}
        yield found


def test_radv_shows_a_phoenix_and_it_is_used(server: Server) -> None:
    (device,) = ollama_log.parse(server.log.read_text()).devices
    assert (device.library, device.type) == ("Vulkan", "iGPU")
    assert device.description is not None
    assert device.description.endswith("(RADV PHOENIX)")


def test_a_token_is_generated_with_all_layers_on_the_gpu(
    server: Server, registry: Registry
) -> None:
    answer = server.generate(registry.name("tiny"), prompt="the", options={"num_predict": 3})
    assert answer["eval_count"] == 3
    assert answer["response"].strip()
    found = ollama_log.parse(server.log.read_text())
    assert found.layers is not None
    assert found.layers.offloaded == found.layers.total == 3
    assert found.cache_limit_mib == 512
    assert not found.vram_tracking_failed
    (loaded,) = server.loaded()
    assert loaded["size"] == loaded["size_vram"] > 100 * 2**20
    assert loaded["context_length"] == 262144


def test_the_same_prompt_again_is_read_from_the_cache(server: Server, registry: Registry) -> None:
    asked = {"prompt": PROMPT, "options": {"num_predict": 1}}
    first, second = (server.generate(registry.name("tiny"), **asked) for _ in range(2))
    assert first["prompt_eval_count"] == second["prompt_eval_count"]
    assert second["prompt_eval_cached_count"] == second["prompt_eval_count"] - 1
    *_, last = prefix_cache.parse(server.log.read_text()).tasks
    assert last.cached_tokens == second["prompt_eval_cached_count"]


def test_the_real_llama_server_takes_every_flag_for_a_projector(
    server: Server, registry: Registry
) -> None:
    options = {"num_ctx": 8192, "num_batch": 256, "num_thread": 2, "main_gpu": 0, "num_gpu": 99,
               "use_mmap": False}  # fmt: skip
    answer = server.generate(registry.name("tiny:vision"), options=options)
    assert answer["done_reason"] == "load"
    found = ollama_log.parse(server.log.read_text()).runners[-1]
    assert (found.batch, found.gpu_layers, found.mmproj is not None) == (256, 99, True)
    assert found.extra == ()


def test_a_hybrid_model_drafts_tokens(server: Server, registry: Registry) -> None:
    options = {"num_ctx": 8192, "num_batch": 256, "num_predict": 8}
    answer = server.generate(registry.name("hybrid"), prompt="the", options=options)
    assert answer["eval_count"] == 8
    found = ollama_log.parse(server.log.read_text()).runners[-1]
    assert (found.spec_type, found.draft_n_max) == ("draft-mtp", 2)
    assert "draft acceptance = " in server.log.read_text()


def test_a_hybrid_model_goes_on_from_a_checkpoint(server: Server, registry: Registry) -> None:
    """The prompt of ollama.prefix_cache is long enough for one, four tokens before its end."""
    asked = {"prompt": PROMPT, "options": {"num_predict": 1, "num_ctx": 8192, "num_batch": 256}}
    _, second = (server.generate(registry.name("hybrid"), **asked) for _ in range(2))
    assert second["prompt_eval_cached_count"] == second["prompt_eval_count"] - 4


def test_on_the_cpu_alone_it_works_too(server: Server, registry: Registry) -> None:
    options = {"num_gpu": 0, "num_ctx": 4096, "num_predict": 2}
    answer = server.generate(registry.name("tiny"), prompt="the", options=options)
    assert answer["eval_count"] == 2
    assert {loaded["size_vram"] for loaded in server.loaded()} >= {0}


def test_the_health_check_s_command_is_in_the_path(server: Server, tree: Path) -> None:
    environ = {"OLLAMA_HOST": f"127.0.0.1:{server.port}", "PATH": "/usr/bin:/bin"}
    listed = subprocess.run(
        ["/usr/sbin/chroot", tree, "sh", "-c", "ollama list"],
        env=environ, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "tiny:latest" in listed.stdout
