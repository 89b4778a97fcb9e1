"""Verdicts on the kernel role: is what was asked configured, booted, live and effective?"""

from difflib import get_close_matches

from apuhost import hardware, kernels, sizing
from apuhost.changes import reboot
from apuhost.changes.kernel import DROP_IN
from apuhost.derived import Derived, key_of
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes import ParseError, cmdline, grub
from apuhost.probes.gpus import Gpu
from apuhost.probes.pairs import whole_number
from apuhost.settings import GTT_KEY, LOCKUP_KEY, Settings
from apuhost.verdicts import Found, Layer, Look, Question, Severity, Verdict, judge
from apuhost.verdicts.parameter import DEPLOY, Parameter, live, looks

GIB = 1024**3
TOLERANCE = 0.01
"""Of a GTT size: the driver rounds, and a capped GTT follows MemTotal."""

CAPPED = "the kernel cuts GTT to MemTotal (commit 5e70f6804b4d, 7.2 and back-ported)"
GPU_PREFIXES = ("ttm.", "amdgpu.", "amdttm.")

EVERY_MODULE = frozenset({"dyndbg", "async_probe"})
"""Parameters that the kernel knows for each module; modinfo lists them for none."""

IDS = (
    "kernel.gtt",
    "kernel.iommu",
    "kernel.lockup_timeout",
    "kernel.arguments",
    "kernel.drop_in",
    "kernel.modules",
    "kernel.current",
)
"""What `verdicts` answers, in its order."""


def verdicts(settings: Settings, derived: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """Every verdict of this concern, in a fixed order."""
    return (
        gtt(settings, derived, facts),
        iommu(settings, facts),
        lockup_timeout(settings, facts),
        arguments(derived, facts),
        drop_in(facts),
        modules(facts),
        current(facts),
    )


def gtt(settings: Settings, derived: Derived, facts: HostFacts) -> Verdict:
    """Can the GPU map as much memory as was asked?"""
    asked = "the kernel's default GTT" if derived.gtt_gib is None else f"{derived.gtt_gib} GiB GTT"
    wanted = None if derived.pages_limit is None else str(derived.pages_limit)
    parameter = Parameter(GTT_KEY, wanted, _release(facts), _pages)
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


def iommu(settings: Settings, facts: HostFacts) -> Verdict:
    """Is the IOMMU off, in passthrough or as the kernel likes, as asked?"""
    choice = settings.kernel.kernel_amd_iommu
    release = _release(facts)
    parameters = {
        "off": (Parameter("amd_iommu", "off", release),),
        "pt": (Parameter("amd_iommu", None, release), Parameter("iommu", "pt", release)),
        "default": (Parameter("amd_iommu", None, release), Parameter("iommu", None, release)),
    }[choice]
    layers = [look for parameter in parameters for look in looks(parameter, facts)]
    return judge(
        Question("kernel.iommu", f"IOMMU {choice}"),
        (*sorted(layers, key=_depth), (Layer.EFFECTIVE, lambda: _iommu_state(choice, facts))),
    )


def lockup_timeout(settings: Settings, facts: HostFacts) -> Verdict:
    """Does each ring get the time that was asked, on this kernel?"""
    release = _release(facts)
    typed = str(settings.kernel.kernel_lockup_timeout_ms)
    parameter = Parameter(LOCKUP_KEY, typed, release, lambda value: _rings(value, release))
    return judge(
        Question("kernel.lockup_timeout", _rings(typed, release)),
        (*looks(parameter, facts), (Layer.LIVE, lambda: live(parameter, facts))),
    )


def arguments(derived: Derived, facts: HostFacts) -> Verdict:
    """Are the further parameters there, the unwanted ones gone, and none misspelt?"""
    release = _release(facts)
    own = {GTT_KEY, LOCKUP_KEY, "amd_iommu", "iommu"}
    extra = [
        Parameter(key_of(text), text.partition("=")[2] if "=" in text else "", release)
        for text in derived.kernel_parameters
        if key_of(text) not in own
    ]
    removed = [Parameter(key, None, release) for key in sorted(derived.removed_keys - own)]
    layers = [look for parameter in (*extra, *removed) for look in looks(parameter, facts)]
    layers += [
        (Layer.CONFIGURED, lambda: _spelt(_configured_line(facts), "the GRUB files", facts)),
        (Layer.BOOTED, lambda: _spelt(facts.cmdline, "/proc/cmdline", facts)),
    ]
    return judge(
        Question("kernel.arguments", "no other GPU parameter in the way, none misspelt"),
        sorted(layers, key=_depth),
    )


def drop_in(facts: HostFacts) -> Verdict:
    """Does nothing behind our drop-in have the last word? Absent is fine: a box set up by hand."""
    return judge(
        Question("kernel.drop_in", f"{DROP_IN} read last", Severity.RECOMMENDED),
        ((Layer.CONFIGURED, lambda: _read_last(facts)),),
    )


def modules(facts: HostFacts) -> Verdict:
    """Does the running kernel have the GPU's modules?"""
    return judge(
        Question("kernel.modules", "amdgpu and ttm in the running kernel"),
        ((Layer.BOOTED, lambda: _has_modules(facts)),),
    )


def current(facts: HostFacts) -> Verdict:
    """Does the host run the newest kernel, initramfs and firmware that it has?"""
    return judge(
        Question("kernel.current", "nothing waits for a reboot", Severity.RECOMMENDED),
        ((Layer.BOOTED, lambda: _nothing_newer(facts)),),
    )


def _release(facts: HostFacts) -> str:
    # An unreadable kernel is judged by the oldest row of the table; kernel.modules says unknown.
    try:
        return facts.kernel.running
    except Unreadable:
        return ""


def _depth(look: Look) -> int:
    return list(Layer).index(look[0])


def _pages(text: str) -> str:
    pages = whole_number(text)
    return f"pages_limit {text}" if pages is None else f"{sizing.gtt_gib(pages):g} GiB"


def _rings(text: str, release: str) -> str:
    try:
        return str(kernels.ring_timeouts(text, release))
    except kernels.LockupTimeoutError:
        return f"lockup_timeout {text}, which the driver refuses"


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
        return Found(False, "no AMD GPU on the PCI bus", "no display controller of 1002", "")
    if derived.gtt_gib is None:
        return Found(True, "the kernel's default GTT")
    asked_bytes = derived.gtt_gib * GIB
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


def _iommu_state(choice: str, facts: HostFacts) -> Found:
    state = facts.iommu.state
    wanted = {"off": ("off",), "pt": ("passthrough", "off")}.get(choice, (state,))
    if state in wanted:
        return Found(True, f"IOMMU {state}")
    units = ", ".join(facts.iommu.units) or f"no unit, {facts.iommu.groups} groups"
    return Found(False, f"IOMMU {state}", f"/sys/class/iommu has {units}", "reboot")


def _configured_line(facts: HostFacts) -> cmdline.Cmdline:
    files = grub.configured(facts.grub.files)
    return cmdline.read(f"{files.linux} {files.linux_default}")


def _spelt(line: cmdline.Cmdline, where: str, facts: HostFacts) -> Found:
    """No ttm.* or amdgpu.* key that the module does not know: the kernel takes it in silence."""
    known = sorted(facts.modules.known)
    for argument in line.arguments:
        key = cmdline.canonical(argument.key)
        module = key.partition(".")[0]
        if key.removeprefix(f"{module}.") in EVERY_MODULE:
            continue
        if key.startswith(GPU_PREFIXES) and facts.modules.knows(module) and key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f" ({near[0]}?)" if near else ""
            return Found(
                False,
                f"{key} is not a parameter of {module}{hint}",
                f"{where} has {cmdline.join([argument])}",
                "take it out by hand, or name it in kernel_remove_args",
            )
    return Found(True, "none misspelt")


def _read_last(facts: HostFacts) -> Found:
    files = facts.grub.files
    paths = [file.path for file in files]
    if DROP_IN not in paths:
        return Found(True, "not there: set up by hand")
    behind = [file.path for file in files[paths.index(DROP_IN) + 1 :] if _sets_line(file.text)]
    if not behind:
        return Found(True, "has the last word")
    return Found(
        False,
        f"{', '.join(behind)} read after it",
        f"grub-mkconfig reads {behind[-1]} last",
        f"rename it to sort before {DROP_IN.rpartition('/')[2]}",
    )


def _sets_line(text: str) -> bool:
    """Whether a GRUB file says anything about the kernel line, or may."""
    try:
        given = grub.defaults(text)
    except ParseError:
        return False
    return given.undetermined or (given.cmdline_linux, given.cmdline_linux_default) != (None, None)


def _has_modules(facts: HostFacts) -> Found:
    running = facts.kernel.running
    found = next((kernel for kernel in facts.kernel.installed if kernel.release == running), None)
    if found is None:
        raise Unreadable(f"/boot has no vmlinuz-{running}: it was removed, or booted elsewhere")
    missing = {"amdgpu", "ttm"} - found.modules
    if not missing:
        return Found(True, f"{running} has both")
    return Found(
        False,
        f"{running} has no {', '.join(sorted(missing))}",
        f"modinfo -k {running}",
        "install the full kernel (linux-image-amd64, linux-generic), then reboot",
    )


def _nothing_newer(facts: HostFacts) -> Found:
    waiting = list(reboot.newer(facts))
    if not waiting:
        return Found(True, "nothing newer than this boot")
    return Found(False, waiting[0], "; ".join(waiting), "reboot, or apuhost deploy INVENTORY")
