"""What the kernel log of one boot tells of amdgpu's devices: their memory, and their troubles.

The texts are those of amdgpu_ttm.c, amdgpu_job.c, amdgpu_device.c and gmc_v*.c; since Linux 6.17
and 7.0 the same words stand behind other prefixes, so only the words are looked for.
"""

import re
from collections import Counter
from dataclasses import dataclass, field, replace

_MOST_GPUS = 64


@dataclass(frozen=True)
class LoggedGpu:
    """One device of amdgpu's, and the MiB of memory that the driver made ready."""

    pci: str | None
    vram_mib: int | None
    gtt_mib: int | None


@dataclass
class LoggedGpus:
    """What was read so far. `current` is the place of the GPU that was named last."""

    gpus: list[LoggedGpu] = field(default_factory=list)
    current: int | None = None
    announced_mib: dict[str, int] = field(default_factory=dict)
    gtt_capped_mib: int | None = None
    ttm_limit_mib: int | None = None
    events: Counter[str] = field(default_factory=Counter)
    reset_failure_told: bool = False


def phrase(text: str) -> re.Pattern[str]:
    """A broken line may have lost or got a blank, so between words none or several will do."""
    return re.compile(text.replace(" ", r"\s*"))


_OF_MEMORY = re.compile(r"[0-9]M\b|TTM|Initialized")
_OF_TROUBLE = re.compile(r"eset|ecovery|VRAM\s*is|Fatal|failed|timeout|fault")
_SIZES = r"(?:amdgpu:|\[drm\])?\s*(?:amdgpu: )*"
_READY = phrase(rf"^{_SIZES}(?P<mib>[0-9]{{1,9}})M of (?P<kind>VRAM|GTT) mem")
_ANNOUNCED = phrase(r"^(?:amdgpu: )?VRAM: ([0-9]{1,9})M 0x")
_INITIALIZED = re.compile(r"Initialized amdgpu [^\n]{0,60}?for ([0-9a-f:.]{12,17}) on minor")
_CAPPED = phrase(r"Capping GTT to ([0-9]{1,9})M")
_TTM_SIZE = phrase(r"TTM size has been set as ([0-9]{1,19}),")
_RESET_BEGUN = phrase("GPU reset begin!")
_RESET_COMPLETED = phrase(r"GPU reset\([0-9]{1,9}\) succeeded")
_RESET_FAILED = phrase(
    r"GPU reset\([0-9]{1,9}\) failed|GPU reset end with ret = -?[1-9]|GPU [Rr]ecovery [Ff]ailed"
)
_EVENTS = {
    "vram_lost": phrase("VRAM is lost"),
    "gpu_init_failed": phrase(
        r"Fatal error during GPU init|^amdgpu: probe of \S{1,20} failed with error"
        "|probe with driver amdgpu failed with error"
    ),
    "ring_timeouts": phrase(r"\bring \S{1,40} timeout\b"),
    "ring_resets_succeeded": phrase(r"\bRing \S{1,40} reset succe"),
    "ring_resets_failed": phrase(r"\bRing \S{1,40} reset fail"),
    "page_faults": phrase(r"\[\w{0,9}hub\w{0,9}\] [\w\s-]{0,30}page fault \(|GPU fault detected:"),
}


def read_gpu_message(state: LoggedGpus, pci: str | None, text: str) -> None:
    """Put what a message of amdgpu's tells, `pci` where it names its device."""
    if pci:
        state.current = _place(state, pci)
    if _OF_MEMORY.search(text):
        _read_sizes(state, pci, text)
    if _OF_TROUBLE.search(text):
        _read_reset(state, text)
        state.events.update(name for name, pattern in _EVENTS.items() if pattern.search(text))


def _read_sizes(state: LoggedGpus, pci: str | None, text: str) -> None:
    if ready := _READY.search(text):
        _read_memory(state, pci, ready["kind"], int(ready["mib"]))
    if pci and (announced := _ANNOUNCED.search(text)):
        state.announced_mib[pci] = int(announced[1])
    if initialized := _INITIALIZED.search(text):
        _name(state, initialized[1])
    if capped := _CAPPED.search(text):
        state.gtt_capped_mib = int(capped[1])
    if ttm_size := _TTM_SIZE.search(text):
        state.ttm_limit_mib = int(ttm_size[1]) >> 20


def gets_memory_again(state: LoggedGpus, pci: str | None, text: str) -> bool:
    """Whether a GPU that has this memory gets it: a second boot, or the driver loaded again."""
    ready = _READY.search(text)
    place = _named(state, pci) if pci else state.current
    if ready is None or place is None:
        return False
    return _size(state.gpus[place], ready["kind"]) is not None


def _size(gpu: LoggedGpu, kind: str) -> int | None:
    return gpu.vram_mib if kind == "VRAM" else gpu.gtt_mib


def _read_memory(state: LoggedGpus, pci: str | None, kind: str, mib: int) -> None:
    """Before Linux 6.17 the lines name no device.

    It is the one that announced this size of VRAM, or else the last one that was named.
    """
    if pci is None:
        state.current = _place_of_unnamed(state, kind, mib)
    if state.current is not None:
        gpu = state.gpus[state.current]
        state.gpus[state.current] = (
            replace(gpu, vram_mib=mib) if kind == "VRAM" else replace(gpu, gtt_mib=mib)
        )


def _place_of_unnamed(state: LoggedGpus, kind: str, mib: int) -> int | None:
    for place, gpu in enumerate(state.gpus):
        if (
            kind == "VRAM"
            and gpu.vram_mib is None
            and state.announced_mib.get(gpu.pci or "") == mib
        ):
            return place
    current = state.current
    if current is None:
        return _append(state, LoggedGpu(None, None, None))
    gpu = state.gpus[current]
    if gpu.pci is None and _size(gpu, kind) is not None:
        return _append(state, LoggedGpu(None, None, None))
    return current


def _place(state: LoggedGpus, pci: str) -> int | None:
    place = _named(state, pci)
    return _append(state, LoggedGpu(pci, None, None)) if place is None else place


def _named(state: LoggedGpus, pci: str) -> int | None:
    return next((place for place, gpu in enumerate(state.gpus) if gpu.pci == pci), None)


def _append(state: LoggedGpus, gpu: LoggedGpu) -> int | None:
    if len(state.gpus) >= _MOST_GPUS:
        return None
    state.gpus.append(gpu)
    return len(state.gpus) - 1


def _name(state: LoggedGpus, pci: str) -> None:
    """The line after the memory's may be the first to name the only GPU."""
    if len(state.gpus) == 1 and state.gpus[0].pci is None:
        state.gpus[0] = replace(state.gpus[0], pci=pci)
    else:
        state.current = _place(state, pci)


def _read_reset(state: LoggedGpus, text: str) -> None:
    """A reset that fails is told up to three times, by functions that call each other."""
    if _RESET_BEGUN.search(text):
        state.events["resets_begun"] += 1
        state.reset_failure_told = False
    if _RESET_COMPLETED.search(text):
        state.events["resets_completed"] += 1
        state.reset_failure_told = False
    if _RESET_FAILED.search(text) and not state.reset_failure_told:
        state.events["resets_failed"] += 1
        state.reset_failure_told = True
