"""The child processes' environment: which backend llama-server loads and which GPU it meets.

As in Ollama's image, the Vulkan backend lies in a folder of its own and is loaded only where
GGML_BACKEND_PATH names it. What is not as in Ollama: Mesa's drm shim is preloaded into
llama-server, so that RADV finds a GPU that nobody has; and only where a render node is there,
so that a container without /dev/dri has no GPU, as with a real one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import environment
from .devices import Device
from .environment import Environ

SHIM = "libamdgpu_noop_drm_shim.so"
_FAMILY = "phoenix"  # the name that Mesa's shim gives the reference host's GPU
_DRIVER = "/usr/share/vulkan/icd.d/radeon_icd.json"


@dataclass(frozen=True)
class Machine:
    """Where things are; a test has them elsewhere."""

    library: Path = Path("/usr/lib/ollama")
    nodes: Path = Path("/dev/dri")
    proc: Path = Path("/proc")
    control_group: Path = Path("/sys/fs/cgroup")

    @property
    def llama_server(self) -> Path:
        """The one program that runs models."""
        return self.library / "llama-server"

    @property
    def libraries(self) -> list[Path]:
        """The folders with GPU backends."""
        return sorted({path.parent for path in self.library.glob("*/*ggml-*")})

    @property
    def render_node(self) -> bool:
        """Whether a render node is there that this process may open."""
        return any(os.access(node, os.R_OK | os.W_OK) for node in self.nodes.glob("renderD*"))


def libraries(machine: Machine, environ: Environ) -> list[Path]:
    """The backend folders that discovery tries, after OLLAMA_LLM_LIBRARY and OLLAMA_VULKAN."""
    wanted = environment.variable(environ, "OLLAMA_LLM_LIBRARY")
    vulkan = environment.boolean(environ, "OLLAMA_VULKAN") is not False
    return [
        folder for folder in machine.libraries
        if wanted in {"", folder.name} and (vulkan or "vulkan" not in folder.name)
    ]  # fmt: skip


def child_environment(machine: Machine, environ: Environ, folder: Path | None) -> dict[str, str]:
    """The server's whole environment, and what makes llama-server load one backend."""
    paths = [str(machine.library), *([str(folder)] if folder else []),
             *filter(None, environ.get("LD_LIBRARY_PATH", "").split(":"))]  # fmt: skip
    child = {**environ, "LD_LIBRARY_PATH": ":".join(dict.fromkeys(paths))}
    if folder and (backends := sorted(folder.glob("libggml-*.so*"))):
        child["GGML_BACKEND_PATH"] = str(backends[0])
        if machine.render_node:
            child |= {"LD_PRELOAD": SHIM, "AMDGPU_GPU_ID": _FAMILY, "VK_DRIVER_FILES": _DRIVER}
    return child


def runner_environment(
    machine: Machine, environ: Environ, gpus: Sequence[Device], projector_bytes: int
) -> dict[str, str]:
    """For a runner: with its GPU only, and room for a projector; without GPUs no backend."""
    folder = machine.library / gpus[0].library.lower() if gpus else None
    child = child_environment(machine, environ, folder)
    child["LLAMA_MEDIA_MARKER"] = f"<__ollama_media_{secrets.token_hex(16)}__>"
    if len(gpus) == 1:
        child["GGML_VK_VISIBLE_DEVICES"] = gpus[0].filter_id or gpus[0].id
    if projector_bytes:
        child.setdefault("LLAMA_ARG_FIT_TARGET", str(-(-projector_bytes // 2**20)))
    return child
