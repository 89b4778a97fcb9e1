"""Verdicts on the firmware (BIOS) setup, as far as Linux can look at it.

Nothing here can be set from Linux. What it cannot tell is unknown, with the page to look at.
"""

from apuhost import verdict_ids
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.kernels import version
from apuhost.probes.dmi_memory import MemoryModule
from apuhost.settings import Settings
from apuhost.settings.firmware import FirmwareSetup
from apuhost.verdicts import Found, Layer, Question, Severity, Verdict, judge
from apuhost.verdicts.logged import logged_gpu

MIB = 1024**2
MOST_UMA_MIB = 1024
"""What is enough: the driver puts models into GTT (AMD asks for 512 MiB, ROCm's documentation)."""

TOLERANCE = 0.05
HONEST_SVM = (6, 7)
"""Kernels before show the flag of a processor whose SVM is off (7deda2ce5b33)."""

IDS = verdict_ids.FIRMWARE
"""What `verdicts` answers, in its order."""


def verdicts(settings: Settings, _: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """Every verdict of this concern, in a fixed order."""
    setup = settings.host.host_firmware or FirmwareSetup()
    return (uma(setup, facts), svm(setup, facts), memory(setup, facts))


def uma(setup: FirmwareSetup, facts: HostFacts) -> Verdict:
    """Is the memory that the firmware sets aside for the GPU as small as it can be?"""
    asked = f"at most {MOST_UMA_MIB}" if setup.uma_mib is None else str(setup.uma_mib)
    return judge(
        Question("firmware.uma", f"UMA frame buffer of {asked} MiB", Severity.RECOMMENDED),
        ((Layer.EFFECTIVE, lambda: _set_aside(setup, facts)),),
    )


def svm(setup: FirmwareSetup, facts: HostFacts) -> Verdict:
    """Is the processor's virtualization on or off, as host_firmware says?"""
    asked = {None: "SVM on or off", True: "SVM on", False: "SVM off"}[setup.svm]
    return judge(
        Question("firmware.svm", asked, Severity.RECOMMENDED),
        ((Layer.EFFECTIVE, lambda: _virtualization(setup, facts)),),
    )


def memory(setup: FirmwareSetup, facts: HostFacts) -> Verdict:
    """Does the memory run as fast as it may, on more than one channel?"""
    return judge(
        Question("firmware.memory", f"memory at {_speed(setup)}", Severity.RECOMMENDED),
        ((Layer.EFFECTIVE, lambda: _fast(setup, facts)),),
    )


def _virtual(facts: HostFacts) -> Found | None:
    if facts.machine.virtual:
        return Found(None, "a virtual machine has no firmware setup of its own")
    return None


def _set_aside(setup: FirmwareSetup, facts: HostFacts) -> Found:
    if skipped := _virtual(facts):
        return skipped
    gpu = next((gpu for gpu in facts.gpus.amd if gpu.apu), None)
    if gpu is None:
        return Found(None, "no APU that apuhost knows: gpu.device")
    logged = logged_gpu(facts, gpu.pci)
    if gpu.vram_bytes is not None:
        mib, said = gpu.vram_bytes // MIB, f"mem_info_vram_total has {gpu.vram_bytes}"
    elif logged is not None and logged.vram_mib is not None:
        mib, said = logged.vram_mib, f"kernel log: {logged.vram_mib}M of VRAM memory ready"
    else:
        raise Unreadable("the driver tells no VRAM: check the BIOS page of UMA Frame Buffer Size")
    if _right_size(mib, setup.uma_mib):
        return Found(True, f"UMA frame buffer of {mib} MiB")
    lost = ", memory that the system lacks" if mib > (setup.uma_mib or MOST_UMA_MIB) else ""
    fix = f"set UMA Frame Buffer Size to {setup.uma_mib or MOST_UMA_MIB} MiB in the BIOS setup"
    return Found(False, f"UMA frame buffer is {mib} MiB{lost}", said, fix)


def _right_size(mib: int, asked: int | None) -> bool:
    if asked is None:
        return mib <= MOST_UMA_MIB * (1 + TOLERANCE)
    return abs(mib - asked) <= asked * TOLERANCE


def _virtualization(setup: FirmwareSetup, facts: HostFacts) -> Found:
    if skipped := _virtual(facts):
        return skipped
    flagged = "svm" in facts.cpuinfo.flags
    state = "on" if flagged else "off"
    if setup.svm is None:
        return Found(True, f"SVM {state}, as far as the processor's flags tell")
    if flagged and version(facts.kernel.running) < HONEST_SVM:
        raise Unreadable(f"kernel {facts.kernel.running} does not tell: check the BIOS page of SVM")
    if flagged is setup.svm:
        return Found(True, f"SVM {state}")
    said = f"/proc/cpuinfo has {'the' if flagged else 'no'} flag svm"
    fix = f"switch SVM {'on' if setup.svm else 'off'} in the BIOS setup"
    return Found(False, f"SVM {state}", said, fix)


def _speed(setup: FirmwareSetup) -> str:
    return "its modules' speed" if setup.memory_mts is None else f"{setup.memory_mts} MT/s"


def _fast(setup: FirmwareSetup, facts: HostFacts) -> Found:
    if skipped := _virtual(facts):
        return skipped
    by_hand = f"check the BIOS page for {_speed(setup)}"
    try:
        modules = facts.dmi_memory.modules
    except Unreadable as error:
        raise Unreadable(f"not readable without dmidecode: {by_hand}") from error
    if not modules or any(_wanted(module, setup) is None for module in modules):
        raise Unreadable(f"the firmware's own table does not tell: {by_hand}")
    slow = [module for module in modules if not _runs(module, setup)]
    if slow:
        return _slow(slow[0], _wanted(slow[0], setup))
    if len(modules) == 1 and not (modules[0].type or "").startswith("LPDDR"):
        said = f"dmidecode -t 17: {modules[0].locator or 'one module'} alone"
        fix = "put the memory into two equal modules, one for each channel"
        return Found(False, "one memory module: half of the bandwidth", said, fix)
    first = modules[0]
    kind = first.type or "memory"
    return Found(True, f"{kind} at {first.configured_mts} MT/s, {len(modules)} modules")


def _wanted(module: MemoryModule, setup: FirmwareSetup) -> int | None:
    """MT/s that a module should run at; None where that, or what it runs at, is not known."""
    return None if module.configured_mts is None else setup.memory_mts or module.rated_mts


def _runs(module: MemoryModule, setup: FirmwareSetup) -> bool:
    return (module.configured_mts or 0) >= (_wanted(module, setup) or 0)


def _slow(module: MemoryModule, wanted: int | None) -> Found:
    said = (
        f"dmidecode -t 17: {module.locator or 'a module'} is rated {module.rated_mts} MT/s, "
        f"configured {module.configured_mts}"
    )
    return Found(
        False,
        f"memory runs at {module.configured_mts} MT/s",
        said,
        f"choose the {wanted} MT/s profile (EXPO) in the BIOS setup",
    )
