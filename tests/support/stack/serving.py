"""Ollama at work: its API, its processes, its log."""

from collections.abc import Iterable, Mapping
from typing import Any

from apuhost.probes.files import TextFile, frame
from tests.support.stack.engine import ENVIRONMENT, IMAGE, IMAGES_OWN, SERVER_PID
from tests.support.stack.frames import reply, sha256
from tests.support.stack.models import GIB, QWEN, Model

VERSION = IMAGE.partition("@")[0].rpartition(":")[2]
RUNNER_PID = 4822
FOREVER = "2319-03-11T10:00:00.854775807Z"


def loaded(model: Model = QWEN, /, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """A model in /api/ps, other in some members."""
    size = 27 * GIB
    return {
        "name": model.name,
        "model": model.name,
        "size": size,
        "digest": sha256(model.stored),
        "expires_at": FOREVER,
        "size_vram": size,
        "context_length": 262144,
        **changes,
    }


def ollama_api(
    *in_memory: Mapping[str, Any],
    models: Iterable[Model] = (QWEN,),
    version: str = VERSION,
    address: str = "127.0.0.1:11434",
    **answers: str,
) -> str:
    """What the API answers: these models are loaded; `answers` by the last words of their paths."""
    listed = [
        {"name": model.name, "digest": sha256(model.stored), "size": 22 * GIB} for model in models
    ]
    given = {
        "version": reply({"version": version}),
        "tags": reply({"models": listed}),
        "ps": reply({"models": list(in_memory)}),
        **answers,
    }
    asked = (TextFile(f"/api/{name}", text) for name, text in given.items())
    return frame((TextFile("address", address), *asked))


def command(model: Model = QWEN, /, **options: str | None) -> list[str]:
    """A runner's command line as Ollama 0.30 and later builds it, other in some options.

    An option's name is its key, so pass them as **{"-b": "2048"}; None takes one out.
    """
    given: dict[str, str | None] = {
        "--model": model.blob,
        "--port": "44067",
        "--host": "127.0.0.1",
        "--no-webui": "",
        "--offline": "",
        "-c": "262144",
        "-np": "1",
        "--log-verbosity": "4",
        "--no-log-prefix": "",
        "--no-log-timestamps": "",
        "--mmproj": model.projector_blob if model.projector else None,
        "--spec-type": "draft-mtp",
        "--spec-draft-n-max": "2",
        "--flash-attn": "auto",
        "-b": "512",
        "-ub": "512",
        "--context-shift": "",
        "--keep": "4",
        **options,
    }
    words = [(name, text) for name, text in given.items() if text is not None]
    return [
        "/usr/lib/ollama/llama-server",
        *(word for name, text in words for word in (name, text) if word),
    ]


def process(pid: int, words: Iterable[str], environment: Mapping[str, str]) -> str:
    """A process as the probe of runners prints it."""
    return "".join(
        (
            f"process {pid}\n",
            *(f"word {word}\n" for word in words),
            *(f"variable {name}={value}\n" for name, value in environment.items()),
        )
    )


BACKEND = {
    "GGML_BACKEND_PATH": "/usr/lib/ollama/vulkan/libggml-vulkan.so",
    "GGML_VK_VISIBLE_DEVICES": "0",
}


def runners(*commands: Iterable[str], environment: Mapping[str, str] = ENVIRONMENT) -> str:
    """Ollama's server with this environment, and a runner for each command line."""
    own = {**IMAGES_OWN, **environment}
    server = process(SERVER_PID, ("/bin/ollama", "serve"), own)
    held = (
        process(RUNNER_PID + number, words, {**own, **BACKEND})
        for number, words in enumerate(commands)
    )
    return f"{server}{''.join(held)}end\n"


_START = "time=2026-11-29T09:10:01.000Z level=INFO source=types.go:1 msg="
COMPUTE = (
    f'{_START}"inference compute" id=0 filter_id=0 library=Vulkan compute=0.0 name=Vulkan0 '
    'description="AMD Radeon 780M Graphics (RADV PHOENIX)" libdirs=ollama,vulkan driver=0.0 '
    'pci_id=0000:c6:00.0 type=iGPU total="49.0 GiB" available="48.2 GiB"\n'
)
ON_CPU = (
    f'{_START}"inference compute" id=cpu library=cpu compute="" name=cpu description=cpu '
    'libdirs=ollama driver="" pci_id="" type="" total="61.0 GiB" available="58.0 GiB"\n'
)
DROPPED = (
    f'{_START}"dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1" id=0 library=Vulkan '
    'compute=0.0 name=Vulkan0 description="AMD Radeon 780M Graphics (RADV PHOENIX)" '
    "pci_id=0000:c6:00.0\n"
)
TIMED_OUT = f'{_START}"llama-server GPU discovery watchdog timed out" timeout=30s\n'.replace(
    "level=INFO", "level=WARN"
)
OFFLOADED = "load_tensors: offloaded 41/41 layers to GPU\n"
CACHE = "srv    load_model: prompt cache is enabled, size limit: 6144 MiB\n"
UNTRACKED = (
    f'{_START}"llama-server VRAM tracking: no per-device buffer sizes were parsed"\n'
).replace("level=INFO", "level=WARN")


def ollama_log(*devices: str, loading: str = OFFLOADED + CACHE) -> str:
    """The log of one start: what it found, then what was loaded."""
    return (
        f'{_START}"server config" env="map[OLLAMA_IGPU_ENABLE:true]"\n'
        f'{_START}"Listening on [::]:11434 (version {VERSION})"\n'
        f'{_START}"discovering available GPUs..."\n'
        f"{''.join(devices)}"
        f'{_START}"vram-based default context" total_vram="49.0 GiB" default_num_ctx=262144\n'
        f"{loading}"
    )


def generation(*answers: tuple[str, str]) -> str:
    """What came of asking for a token: pairs of `reply MODEL` (or busy, silent) and the answer."""
    asked = (TextFile(head, text) for head, text in answers)
    return frame((TextFile("address", "127.0.0.1:11434"), *asked, TextFile("end", "")))


def repetition(*told: tuple[str, str]) -> str:
    """What came of one prompt twice: pairs of `first MODEL` (or second, log) and the text."""
    files = (TextFile(head, text) for head, text in told)
    return frame((TextFile("address", "127.0.0.1:11434"), *files, TextFile("end", "")))
