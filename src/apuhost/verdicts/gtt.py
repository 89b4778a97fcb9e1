"""kernel.gtt: can the GPU map as much of the system's memory as was asked?"""

from dataclasses import dataclass

from apuhost import sizing
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.gpus import Gpu
from apuhost.probes.pairs import whole_number
from apuhost.settings import Settings
from apuhost.settings.kernel import GTT_KEY
from apuhost.verdicts import Found, Layer, Question, Severity, Status, Verdict, judge
from apuhost.verdicts.gpu import no_gpu
from apuhost.verdicts.logged import kernel_log, logged_gpu
from apuhost.verdicts.parameter import DEPLOY, Parameter, live, looks, release_of

GIB = 1024**3
MIB = 1024**2
TOLERANCE = 0.01
"""Of a GTT size: the driver rounds, and a capped GTT follows MemTotal."""


@dataclass(frozen=True)
class _Gtt:
    """Bytes that a GPU's driver made, and the line that shows it."""

    bytes: int
    said: str


def gtt(settings: Settings, derived: Derived, facts: HostFacts) -> Verdict:
    """Can the GPU map as much memory as was asked? More than there is, is a warning."""
    asked = "the kernel's default GTT" if derived.gtt_gib is None else f"{derived.gtt_gib} GiB GTT"
    wanted = None if derived.pages_limit is None else str(derived.pages_limit)
    parameter = Parameter(GTT_KEY, wanted, release_of(facts), _pages)
    found = judge(
        Question("kernel.gtt", asked),
        (
            *looks(parameter, facts),
            (Layer.BOOTED, lambda: _no_gttsize(facts)),
            (Layer.LIVE, lambda: _in_charge(facts)),
            (Layer.LIVE, lambda: live(parameter, facts)),
            (Layer.EFFECTIVE, lambda: _gtt_of_gpu(settings, derived, facts)),
        ),
    )
    if found.status is not Status.PASS:
        return found
    beyond = judge(
        Question("kernel.gtt", "a GTT that memory can hold", Severity.RECOMMENDED),
        ((Layer.EFFECTIVE, lambda: _within_memory(facts)),),
    )
    return found if beyond.status is Status.PASS else beyond


def _pages(text: str) -> str:
    pages = whole_number(text)
    return f"pages_limit {text}" if pages is None else f"{sizing.gtt_gib(pages):g} GiB"


def _no_gttsize(facts: HostFacts) -> Found:
    size = facts.cmdline.effective("amdgpu.gttsize")
    if size in (None, "-1"):
        return Found(True, "no amdgpu.gttsize")
    return Found(
        False,
        f"GTT of {size} MiB by amdgpu.gttsize, which outweighs ttm.pages_limit",
        f"/proc/cmdline has amdgpu.gttsize={size}",
        DEPLOY,
    )


def _in_charge(facts: HostFacts) -> Found:
    if "amdttm" not in facts.modules.loaded:
        return Found(True, "ttm is in charge")
    return Found(
        False,
        "AMD's DKMS driver is in charge and ignores ttm.pages_limit",
        "/sys/module/amdttm is there",
        "remove amdgpu-dkms, then reboot",
    )


def _gtt_of_gpu(settings: Settings, derived: Derived, facts: HostFacts) -> Found:
    if settings.host.host_simulated and facts.machine.virtual:
        asked = "the kernel's default" if derived.gtt_gib is None else f"{derived.gtt_gib} GiB"
        return Found(None, f"a VM has no mem_info_gtt_total; {asked} up to /sys/module/ttm")
    made = [(gpu, _made(gpu, facts)) for gpu in facts.gpus.apus]
    if not made:
        return no_gpu(facts)
    wrong = (_wrong(gpu, size, derived.gtt_gib, facts) for gpu, size in made)
    if found := next((found for found in wrong if found), None):
        return found
    return Found(True, _worded(made[0][1], derived.gtt_gib))


def _wrong(gpu: Gpu, made: _Gtt | None, asked_gib: int | None, facts: HostFacts) -> Found | None:
    if made is None:
        said = f"{gpu.pci}: driver {gpu.driver}"
        return Found(False, "the GPU's driver made no GTT", said, "reboot")
    if asked_gib is not None and not _as_asked(made, asked_gib, facts):
        size = f"GTT is {made.bytes / GIB:.1f} GiB{_beyond(made, facts)}"
        return Found(False, size, made.said, "reboot: the size is fixed when the driver starts")
    return _unusable(made, facts)


def _made(gpu: Gpu, facts: HostFacts) -> _Gtt | None:
    """What sysfs says; where it is silent though the driver is there, what the driver logged."""
    if gpu.gtt_bytes is not None:
        path = f"/sys/bus/pci/devices/{gpu.pci}/mem_info_gtt_total"
        return _Gtt(gpu.gtt_bytes, f"{path} has {gpu.gtt_bytes}")
    logged = logged_gpu(facts, gpu.pci)
    if gpu.driver != "amdgpu" or logged is None or logged.gtt_mib is None:
        return None
    return _Gtt(logged.gtt_mib * MIB, f"kernel log: {logged.gtt_mib}M of GTT memory ready")


def _as_asked(made: _Gtt, asked_gib: int, facts: HostFacts) -> bool:
    """Newer kernels cut GTT to MemTotal (5e70f6804b4d: 7.2, and back-ported), others do not."""
    asked = asked_gib * GIB
    allowed = (asked, min(asked, facts.meminfo.total_kib * 1024))
    return any(_close(made.bytes, size) for size in allowed)


def _worded(made: _Gtt | None, asked_gib: int | None) -> str:
    if made is None or asked_gib is None:
        return "the kernel's default GTT"
    size = made.bytes / GIB
    cut = "" if _close(size, asked_gib) else f": the kernel cut {asked_gib} GiB down to its memory"
    return f"{size:.4g} GiB GTT{cut}"


def _unusable(made: _Gtt, facts: HostFacts) -> Found | None:
    """TTM's own limit, which the driver names where amdgpu.gttsize differs from it."""
    log = kernel_log(facts)
    limit = log.ttm_limit_mib if log else None
    if limit is None or limit * MIB >= made.bytes * (1 - TOLERANCE):
        return None
    return Found(
        False,
        f"GTT is {made.bytes / GIB:.1f} GiB, of which TTM lets {limit / 1024:.1f} GiB be used",
        f"kernel log: TTM size has been set as {limit} MiB",
        DEPLOY,
    )


def _within_memory(facts: HostFacts) -> Found:
    for gpu in facts.gpus.apus:
        made = _made(gpu, facts)
        if made and (beyond := _beyond(made, facts)):
            return Found(
                False,
                f"GTT is {made.bytes / GIB:.1f} GiB{beyond}: a large model can freeze the host",
                made.said,
                "a smaller kernel_gtt_gib (auto leaves room), a smaller UMA frame buffer",
            )
    return Found(True, "memory holds it")


def _beyond(made: _Gtt, facts: HostFacts) -> str:
    """Words on a GTT that is larger than memory; VRAM is not in MemTotal, it comes on top."""
    memory = facts.meminfo.total_kib * 1024
    if made.bytes <= memory * (1 + TOLERANCE):
        return ""
    return f", more than the {memory / GIB:.1f} GiB of memory beside the GPU's own"


def _close(size: float, asked: float) -> bool:
    return abs(size - asked) <= asked * TOLERANCE
