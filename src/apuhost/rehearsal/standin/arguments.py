"""llama-server's command line, in the order and by the rules of Ollama 0.34.4.

facts/ollama.md section 3.3. Debian's llama-server (0.7.0, build 11669) takes every one of these
flags, so that /proc/PID/cmdline shows them all. Two that older releases of Ollama wrote and this
one does not are refused by it:

===============  =======================  =====================================
flag             written by Ollama        what 0.34.4 writes instead
===============  =======================  =====================================
``--no-mmap``    0.30.0 to 0.32.5         ``--load-mode none``
``--direct-io``  0.32.2 to 0.32.5         ``--load-mode dio`` (never for Vulkan)
===============  =======================  =====================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .options import Runner
from .sizes import GIB, MIB

_NEEDS_MANY_IMAGE_TOKENS = frozenset(("qwen2vl", "qwen25vl", "qwen3vl", "qwen3vlmoe"))
PROJECTOR_HEADROOM = GIB
_BATCHES = ((32768, 2048), (4096, 1024), (0, 512))  # more context than this: this batch
_SURCHARGE = {2048: 2 * GIB, 1024: 768 * MIB, 512: 0}
_HEADROOM_PERCENT = {2048: 60, 1024: 75, 512: 100}


@dataclass(frozen=True)
class Launch:
    """All that decides a runner's command line.

    Attributes:
        gpus: free bytes of each GPU that is used; none means that the CPU computes.
        draft_kind: `draft-mtp` or `draft-dflash` where the model can draft tokens, else empty.
        flash_attention: OLLAMA_FLASH_ATTENTION, None when unset.
    """

    executable: Path
    model: Path
    architecture: str
    layers: int
    port: int
    options: Runner
    num_keep: int = 4
    num_parallel: int = 1
    without_jinja: bool = False
    projector: Path | None = None
    projector_bytes: int = 0
    adapters: Sequence[Path] = ()
    draft_kind: str = ""
    draft: Path | None = None
    kv_cache_type: str = ""
    flash_attention: bool | None = None
    embedding: bool = False
    context_shift: bool = True
    gpus: Sequence[int] = ()


def command(launch: Launch) -> list[str]:
    """The program and its arguments."""
    options = launch.options
    return [
        str(launch.executable), "--model", str(launch.model), "--port", str(launch.port),
        "--host", "127.0.0.1", "--no-webui", "--offline",
        "-c", str(options.num_ctx * launch.num_parallel), "-np", str(launch.num_parallel),
        "--log-verbosity", "4", "--no-log-prefix", "--no-log-timestamps",
        *(("--no-jinja", "--chat-template", "chatml") if launch.without_jinja else ()),
        *_projector(launch), *_draft(launch),
        *(("--image-min-tokens", "1024")
          if launch.architecture in _NEEDS_MANY_IMAGE_TOKENS else ()),
        *(part for adapter in launch.adapters for part in ("--lora", str(adapter))),
        *(("--load-mode", "none") if options.use_mmap is False else ()),
        *_cache_types(launch.kv_cache_type), "--flash-attn", _flash(launch.flash_attention),
        *_batch(launch), *(("-ngl", str(options.num_gpu)) if options.num_gpu >= 0 else ()),
        *(("-t", str(options.num_thread)) if options.num_thread > 0 else ()),
        *_main_gpu(options.main_gpu), *_context_shift(launch),
    ]  # fmt: skip


def projector_on_cpu(launch: Launch) -> str:
    """Why the projector is kept off the GPU, empty if it is not."""
    if launch.options.num_gpu == 0:
        return "cpu-only"
    if 0 < launch.options.num_gpu < launch.layers:
        return "partial-text-offload"
    needed = launch.projector_bytes + PROJECTOR_HEADROOM
    return "limited-vram" if any(0 < free < needed for free in launch.gpus) else ""


def automatic_batch(context: int, predicted: int, available: int) -> int:
    """num_batch where neither request nor model gives one.

    Args:
        context: all slots together, in tokens.
        predicted: bytes that the model will take (weights and KV cache).
        available: bytes free for it; 0 means unknown.
    """
    batch = next(size for more_than, size in _BATCHES if context > more_than)
    smaller = [size for size in _SURCHARGE if size <= batch]
    return next(
        size for size in smaller if size == smaller[-1] or _fits(size, predicted, available)
    )


def _fits(batch: int, predicted: int, available: int) -> bool:
    if not predicted or not available:
        return True
    limit = available * 80 // 100
    headroom = available * _HEADROOM_PERCENT[batch] // 100
    return predicted <= min(limit, headroom) and _SURCHARGE[batch] <= limit - predicted


def _projector(launch: Launch) -> list[str]:
    if launch.projector is None:
        return []
    kept = ["--no-mmproj-offload"] if projector_on_cpu(launch) else []
    return ["--mmproj", str(launch.projector), *kept]


def _draft(launch: Launch) -> list[str]:
    count = launch.options.draft_num_predict
    if not launch.draft_kind or count <= 0:
        return []
    sampling = ["--spec-draft-backend-sampling"] if launch.draft_kind == "draft-mtp" else []
    model = ["--spec-draft-model", str(launch.draft)] if launch.draft else []
    return ["--spec-type", launch.draft_kind, "--spec-draft-n-max", str(count), *sampling, *model]


def _cache_types(kind: str) -> list[str]:
    return ["--cache-type-k", kind, "--cache-type-v", kind] if kind else []


def _flash(chosen: bool | None) -> str:
    return {None: "auto", True: "on", False: "off"}[chosen]


def _batch(launch: Launch) -> list[str]:
    size = launch.options.num_batch
    if launch.embedding:
        size = min(size, launch.options.num_ctx * launch.num_parallel)
    given = ["-b", str(size), "-ub", str(size)] if size > 0 else []
    return ["--embedding", *given] if launch.embedding else given


def _main_gpu(index: int | None) -> list[str]:
    return [] if index is None else ["--split-mode", "none", "--main-gpu", str(index)]


def _context_shift(launch: Launch) -> list[str]:
    if not launch.context_shift:
        return []
    return ["--context-shift", *(("--keep", str(launch.num_keep)) if launch.num_keep > 0 else ())]
