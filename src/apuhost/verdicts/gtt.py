"""kernel.gtt: can the GPU map as much of the system's memory as was asked?"""

from apuhost import hardware, sizing
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.gpus import Gpu
from apuhost.probes.pairs import whole_number
from apuhost.settings import Settings
from apuhost.settings.kernel import GTT_KEY
from apuhost.verdicts import Found, Layer, Question, Verdict, judge
from apuhost.verdicts.gpu import SWITCH_ON
from apuhost.verdicts.parameter import DEPLOY, Parameter, live, looks, release_of

GIB = 1024**3
TOLERANCE = 0.01
"""Of a GTT size: the driver rounds, and a capped GTT follows MemTotal."""


def gtt(settings: Settings, derived: Derived, facts: HostFacts) -> Verdict:
    """Can the GPU map as much memory as was asked?"""
    asked = "the kernel's default GTT" if derived.gtt_gib is None else f"{derived.gtt_gib} GiB GTT"
    wanted = None if derived.pages_limit is None else str(derived.pages_limit)
    parameter = Parameter(GTT_KEY, wanted, release_of(facts), _pages)
    return judge(
        Question("kernel.gtt", asked),
        (
            *looks(parameter, facts),
            (Layer.BOOTED, lambda: _no_gttsize(facts)),
            (Layer.LIVE, lambda: _in_charge(facts)),
            (Layer.LIVE, lambda: live(parameter, facts)),
            (Layer.EFFECTIVE, lambda: _gtt_of_gpu(settings, derived, facts)),
        ),
    )


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
    gpus = _apus(facts)
    if not gpus:
        return Found(False, "no AMD GPU on the PCI bus", "lspci -d 1002: lists none", SWITCH_ON)
    if unmade := next((gpu for gpu in gpus if gpu.gtt_bytes is None), None):
        return _wrong_gtt(unmade)
    if derived.gtt_gib is None:
        return Found(True, "the kernel's default GTT")
    asked_bytes = derived.gtt_gib * GIB
    # Newer kernels cut GTT to MemTotal (commit 5e70f6804b4d: 7.2, and back-ported), others do not.
    allowed = (asked_bytes, min(asked_bytes, facts.meminfo.total_kib * 1024))
    for gpu in gpus:
        if not any(_close(gpu.gtt_bytes, size) for size in allowed):
            return _wrong_gtt(gpu)
    return Found(True, f"{(gpus[0].gtt_bytes or 0) / GIB:g} GiB GTT")


def _wrong_gtt(gpu: Gpu) -> Found:
    if gpu.gtt_bytes is None:
        return Found(
            False, "the GPU's driver made no GTT", f"{gpu.pci}: driver {gpu.driver}", "reboot"
        )
    return Found(
        False,
        f"GTT is {gpu.gtt_bytes / GIB:.1f} GiB",
        f"/sys/bus/pci/devices/{gpu.pci}/mem_info_gtt_total has {gpu.gtt_bytes}",
        "reboot: the size is fixed when the driver starts",
    )


def _apus(facts: HostFacts) -> tuple[Gpu, ...]:
    """The APUs among AMD's GPUs; all of them where none is in the table."""
    known = tuple(gpu for gpu in facts.gpus.amd if hardware.apu(gpu.device))
    return known or facts.gpus.amd


def _close(size: int | None, asked: float) -> bool:
    return size is not None and abs(size - asked) <= asked * TOLERANCE
