"""Verdicts on the GPU itself: is there an APU, does amdgpu drive it, and does it stay well?"""

from contextlib import suppress

from apuhost import known_bad as table
from apuhost import verdict_ids
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.known_bad import KnownBad
from apuhost.probes.gpus import Gpu
from apuhost.settings import Settings
from apuhost.verdicts import Found, Layer, Question, Severity, Status, Verdict, judge
from apuhost.verdicts.health import DRIVER_LOG, health
from apuhost.verdicts.several import several

SWITCH_ON = "switch the built-in GPU on in the BIOS setup; lspci -d 1002: lists it then"
HAND_ON = "pass the GPU through to this VM, or rehearse: set host_simulated (docs/settings.md)"
MIB = 1024**2
FIRMWARE_PACKAGES = ("firmware-amd-graphics", "linux-firmware")
"""Debian's and Ubuntu's."""

IDS = verdict_ids.GPU
"""What `verdicts` answers, in its order."""


def verdicts(settings: Settings, derived: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """Every verdict of this concern, in a fixed order."""
    return (
        device(settings, facts),
        driver(settings, facts),
        health(settings, derived, facts),
        known_bad(settings, facts),
    )


def device(settings: Settings, facts: HostFacts) -> Verdict:
    """Is there an AMD GPU, and is it an APU of the table? Another one is worth a word."""
    found = judge(
        Question("gpu.device", "an AMD APU"),
        ((Layer.EFFECTIVE, lambda: _there(settings, facts)),),
    )
    if found.status is not Status.PASS or any(gpu.apu for gpu in facts.gpus.amd):
        return found
    return judge(
        Question("gpu.device", "an APU that apuhost knows", Severity.RECOMMENDED),
        ((Layer.EFFECTIVE, lambda: _unknown(facts)),),
    )


def driver(settings: Settings, facts: HostFacts) -> Verdict:
    """Is every AMD GPU bound to amdgpu?"""
    return judge(
        Question("gpu.driver", "an AMD GPU driven by amdgpu"),
        ((Layer.EFFECTIVE, lambda: _bound(settings, facts)),),
    )


def known_bad(settings: Settings, facts: HostFacts) -> Verdict:
    """Does the GPU run no kernel and firmware that are known to hang it?"""
    return judge(
        Question(
            "gpu.known_bad", "no kernel or firmware that hangs this GPU", Severity.RECOMMENDED
        ),
        ((Layer.BOOTED, lambda: _unlisted(settings, facts)),),
    )


def no_gpu(facts: HostFacts) -> Found:
    """What is said of a host without an AMD GPU; a virtual machine has no BIOS setup of its own."""
    fix = HAND_ON if facts.machine.virtual else SWITCH_ON
    return Found(False, "no AMD GPU on the PCI bus", "lspci -d 1002: lists none", fix)


def _simulated(settings: Settings, facts: HostFacts) -> Found | None:
    simulated = settings.host.host_simulated
    if simulated and facts.machine.virtual:
        return Found(None, f"simulated GPU {simulated.gpu}: a VM has none")
    return None


def _there(settings: Settings, facts: HostFacts) -> Found:
    if skipped := _simulated(settings, facts):
        return skipped
    if not facts.gpus.amd:
        missing = no_gpu(facts)
        beside = _beside(facts)
        return Found(False, f"{missing.observed}{beside}", missing.evidence, missing.fix)
    return Found(True, f"{_named(facts.gpus.apus[0])}{_beside(facts)}")


def _named(gpu: Gpu) -> str:
    """`Radeon 780M (1002:1900) at 0000:c6:00.0, 1024 MiB of its own, 49152 MiB of GTT`."""
    name = gpu.apu.gpu if gpu.apu else "AMD GPU"
    sizes = {"of its own": gpu.vram_bytes, "of GTT": gpu.gtt_bytes}
    told = [f"{size // MIB} MiB {what}" for what, size in sizes.items() if size is not None]
    return ", ".join([f"{name} ({gpu.ids}) at {gpu.pci}", *told])


def _beside(facts: HostFacts) -> str:
    """The other display controllers: Vulkan lists those too, and their order may change."""
    others = [gpu for gpu in facts.gpus.devices if gpu not in facts.gpus.apus[:1]]
    told = [f"{gpu.ids} ({gpu.driver or 'no driver'})" for gpu in others]
    return f"; beside it {', '.join(told)}" if told else ""


def _unknown(facts: HostFacts) -> Found:
    gpu = facts.gpus.amd[0]
    return Found(
        False,
        f"{_named(gpu)} is none of them{_beside(facts)}",
        f"/sys/bus/pci/devices/{gpu.pci}/device has 0x{gpu.device}",
        "check its figures yourself: docs/kernels.md has those of known APUs",
    )


def _bound(settings: Settings, facts: HostFacts) -> Found:
    if skipped := _simulated(settings, facts):
        return skipped
    gpus = facts.gpus.amd
    if not gpus:
        return no_gpu(facts)
    for gpu in gpus:
        if gpu.driver != "amdgpu":
            return _undriven(gpu, facts)
    names = [gpu.apu.gpu for gpu in gpus if gpu.apu]
    return Found(True, f"{', '.join(names) or 'an AMD GPU'} driven by amdgpu")


def _undriven(gpu: Gpu, facts: HostFacts) -> Found:
    observed = f"{gpu.ids} has driver {gpu.driver or 'none'}"
    with suppress(Unreadable):
        if gpu.driver is None and "nomodeset" in facts.cmdline:
            said = "/proc/cmdline has nomodeset, which keeps amdgpu from starting"
            return Found(False, observed, said, "take nomodeset out of /etc/default/grub, reboot")
    return Found(False, observed, f"/sys/bus/pci/devices/{gpu.pci}/driver", DRIVER_LOG)


def _unlisted(settings: Settings, facts: HostFacts) -> Found:
    if skipped := _simulated(settings, facts):
        return skipped
    gpus = [gpu for gpu in facts.gpus.amd if gpu.apu]
    if not gpus:
        return Found(None, "no APU that the table of known faults names")
    rocm = settings.ollama.ollama_backend == "rocm"
    return several(gpus, lambda gpu: _harmless(gpu, facts, rocm=rocm), lambda gpu: gpu.ids)


def _harmless(gpu: Gpu, facts: HostFacts, *, rocm: bool) -> Found:
    gfx, release = gpu.apu.gfx if gpu.apu else "", facts.kernel.running
    rows = [row for row in table.known_bad(gfx, rocm=rocm) if table.has_kernel(row, release)]
    untold: list[KnownBad] = []
    for row in rows:
        match table.has_firmware(row, _mes(gpu, row, facts), _package(facts)):
            case True:
                said = f"kernel {release}, firmware {row.firmware} ({row.source})"
                return Found(False, f"{row.effect} are known of it", said, row.fix)
            case None:
                untold.append(row)
            case False:
                continue
    if untold:
        said = f"gpu_firmware: debugfs does not tell whether it is {untold[0].firmware}"
        raise Unreadable(said)
    return Found(True, f"nothing known against {gfx} with kernel {release}")


def _mes(gpu: Gpu, row: KnownBad, facts: HostFacts) -> int | None:
    """What the driver loaded; a host whose debugfs was not asked may have a package that tells."""
    if row.mes is None:
        return None
    with suppress(Unreadable):
        return facts.gpu_firmware.mes(gpu.pci)
    return None


def _package(facts: HostFacts) -> str | None:
    with suppress(Unreadable):
        installed = facts.packages.installed
        return next((installed[name] for name in FIRMWARE_PACKAGES if name in installed), None)
    return None
