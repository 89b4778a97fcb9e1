"""Arithmetic only: the GTT an APU may map, what fits into it, how long a prefill step takes.

Units: MemTotal in KiB as /proc/meminfo prints it, GTT in GiB, ttm.pages_limit in pages of 4 KiB.
"""

from dataclasses import dataclass

KIB_PER_GIB = 1024 * 1024
PAGES_PER_GIB = 262_144
"""ttm.pages_limit counts kernel pages of 4096 bytes: 12582912 pages are 48 GiB."""

SMALL_MEMORY_GIB = 30
"""Under this much memory the kernel's own default (half of it) leaves little enough already."""

SYSTEM_RESERVE_GIB = 12
SYSTEM_RESERVE_SHARE = 0.125
"""What `auto` leaves to the system: full-machine freezes were reported with 3 % of 128 GiB left."""

LEAST_SYSTEM_GIB = 4
"""A GTT that leaves less than this can freeze the whole machine: there is no back-pressure."""


def automatic_gtt_gib(mem_total_kib: int) -> int | None:
    """GTT in GiB for `kernel_gtt_gib: auto`; None keeps the kernel's default.

    The larger of half of MemTotal and the largest multiple of 4 that leaves
    max(12 GiB, 12.5 %) to the system: 48 on the 64 GiB reference host.
    """
    total = mem_total_kib / KIB_PER_GIB
    if total < SMALL_MEMORY_GIB:
        return None
    reserve = max(SYSTEM_RESERVE_GIB, total * SYSTEM_RESERVE_SHARE)
    return max(int(total // 2), int((total - reserve) // 4) * 4)


def pages_limit(gtt_gib: int) -> int:
    """ttm.pages_limit (pages of 4 KiB) for a GTT of so many GiB."""
    return gtt_gib * PAGES_PER_GIB


def gtt_gib(pages: int) -> float:
    """GiB that a ttm.pages_limit stands for."""
    return pages / PAGES_PER_GIB


def system_gib(mem_total_kib: int, gtt_gib: int) -> float:
    """GiB that stay with the system when the GPU has mapped its whole GTT."""
    return mem_total_kib / KIB_PER_GIB - gtt_gib


PREFILL_S_PER_TOKEN_PAIR = 2.44e-8
"""Seconds that the attention of one prefill step takes per token of its batch and token already in
context, as measured on a Radeon 780M: 2.3 s for a batch of 2048 at 46,000 tokens."""

FIT_MARGIN_BYTES = 1024**3
"""What llama.cpp leaves free when it fits a model (its --fit-target, 1024 MiB), compute buffers."""

_BYTES_PER_GIB = 1024**3
_BYTES_PER_MIB = 1024**2


@dataclass(frozen=True)
class Fit:
    """Bytes that a model's weights and its KV cache take, against the GTT's."""

    weights: int
    kv_cache: int
    gtt: int

    @property
    def holds(self) -> bool:
        """Whether all of it stays on the GPU."""
        return self.weights + self.kv_cache + FIT_MARGIN_BYTES <= self.gtt

    def __str__(self) -> str:
        parts = (self.weights, self.kv_cache, self.gtt)
        weights, cache, gtt = (f"{part / _BYTES_PER_GIB:.1f}" for part in parts)
        return f"weights {weights} GiB and KV cache {cache} GiB do not fit into {gtt} GiB of GTT"


def prefill_step_s(batch: int, context: int) -> float:
    """Seconds that one prefill step of so many tokens takes with so many already in context."""
    return PREFILL_S_PER_TOKEN_PAIR * batch * context


SHORT_CONTEXT = 4096
"""Tokens up to which Ollama takes its smallest batch."""


def automatic_batch(context: int) -> int:
    """Tokens of a batch where nobody says: Ollama goes by the context (llm/llama_server.go)."""
    if context > 32_768:  # noqa: PLR2004
        return 2048
    return 1024 if context > SHORT_CONTEXT else 512


def automatic_context(gtt_gib: float) -> int:
    """Tokens of context where nobody says: Ollama goes by the GPU's memory (since 0.15.5)."""
    if gtt_gib >= 47:  # noqa: PLR2004
        return 262_144
    return 32_768 if gtt_gib >= 23 else 4096  # noqa: PLR2004


def fit(weights: int, context: int, kv_bytes_per_token: int, gtt_gib: float) -> Fit:
    """How weights (bytes) and the KV cache of so many tokens go into a GTT of so many GiB."""
    return Fit(weights, context * kv_bytes_per_token, int(gtt_gib * _BYTES_PER_GIB))


def mib(size: int) -> int:
    """Bytes in MiB, rounded up."""
    return -(-size // _BYTES_PER_MIB)
