"""Verdicts on the kernel role: is what was asked configured, booted, live and effective?"""

from apuhost import kernels, verdict_ids
from apuhost.changes import reboot
from apuhost.changes.kernel import DROP_IN
from apuhost.derived import Derived, key_of
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes import ParseError, cmdline, grub
from apuhost.settings import Settings
from apuhost.settings.kernel import GTT_KEY, LOCKUP_KEY
from apuhost.verdicts import Found, Layer, Question, Severity, Verdict, judge
from apuhost.verdicts.gtt import gtt
from apuhost.verdicts.iommu import iommu
from apuhost.verdicts.parameter import Parameter, by_depth, live, looks, release_of
from apuhost.verdicts.spelling import known_to_kernel, known_to_modinfo

IDS = verdict_ids.KERNEL
"""What `verdicts` answers, in its order."""


def verdicts(settings: Settings, derived: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """Every verdict of this concern, in a fixed order."""
    return (
        gtt(settings, derived, facts),
        iommu(settings, facts),
        lockup_timeout(settings, facts),
        arguments(derived, facts),
        drop_in(derived, facts),
        modules(facts),
        current(facts),
    )


def lockup_timeout(settings: Settings, facts: HostFacts) -> Verdict:
    """Does each ring get the time that was asked, on this kernel?"""
    release = release_of(facts)
    typed = str(settings.kernel.kernel_lockup_timeout_ms)
    parameter = Parameter(LOCKUP_KEY, typed, release, lambda value: _rings(value, release))
    return judge(
        Question("kernel.lockup_timeout", _rings(typed, release)),
        (*looks(parameter, facts), (Layer.LIVE, lambda: live(parameter, facts))),
    )


def arguments(derived: Derived, facts: HostFacts) -> Verdict:
    """Are the further parameters there, the unwanted ones gone, and none misspelt?"""
    release = release_of(facts)
    own = {GTT_KEY, LOCKUP_KEY, "amd_iommu", "iommu"}
    extra = [
        _shown(key_of(text), text.partition("=")[2] if "=" in text else "", release)
        for text in derived.kernel_parameters
        if key_of(text) not in own
    ]
    removed = [_shown(key, None, release) for key in sorted(derived.removed_keys - own)]
    layers = [look for parameter in (*extra, *removed) for look in looks(parameter, facts)]
    layers += [
        (
            Layer.CONFIGURED,
            lambda: known_to_modinfo(_configured_line(facts), "the GRUB files", facts),
        ),
        (Layer.BOOTED, lambda: known_to_modinfo(facts.cmdline, "/proc/cmdline", facts)),
        (Layer.BOOTED, lambda: known_to_kernel(facts)),
    ]
    return judge(
        Question("kernel.arguments", "no other GPU parameter in the way, none misspelt"),
        by_depth(layers),
    )


def _shown(key: str, wanted: str | None, release: str) -> Parameter:
    return Parameter(key, wanted, release, lambda value: f"{key}={value}")


def drop_in(derived: Derived, facts: HostFacts) -> Verdict:
    """Does nothing behind our drop-in have the last word? A box set up by hand needs none."""
    return judge(
        Question("kernel.drop_in", f"{DROP_IN} read last", Severity.RECOMMENDED),
        ((Layer.CONFIGURED, lambda: _read_last(derived, facts)),),
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


def _rings(text: str, release: str) -> str:
    try:
        return str(kernels.ring_timeouts(text, release))
    except kernels.LockupTimeoutError:
        return f"lockup_timeout {text}, which the driver refuses"


def _configured_line(facts: HostFacts) -> cmdline.Cmdline:
    files = grub.configured(facts.grub.files)
    return cmdline.read(f"{files.linux} {files.linux_default}")


def _read_last(derived: Derived, facts: HostFacts) -> Found:
    files = facts.grub.files
    paths = [file.path for file in files]
    if DROP_IN not in paths:
        return _by_hand(derived, facts)
    behind = [file.path for file in files[paths.index(DROP_IN) + 1 :] if _sets_line(file.text)]
    if not behind:
        return Found(True, "has the last word")
    return Found(
        False,
        f"{', '.join(behind)} read after it",
        f"grub-mkconfig reads {behind[-1]} last",
        f"rename it to sort before {DROP_IN.rpartition('/')[2]}",
    )


def _by_hand(derived: Derived, facts: HostFacts) -> Found:
    line = _configured_line(facts)
    doubtful = grub.configured(facts.grub.files).undetermined
    if doubtful or any(key_of(text) in line for text in derived.kernel_parameters):
        return Found(True, "not there: set up by hand")
    return Found(None, "not there: none of the parameters is set yet")


def _sets_line(text: str) -> bool:
    """Whether a GRUB file says anything about the kernel line, or may."""
    try:
        given = grub.defaults(text)
    except ParseError:
        return True
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
        f"/lib/modules/{running}/modules.dep",
        "install the full kernel (linux-image-amd64, linux-generic), then reboot",
    )


def _nothing_newer(facts: HostFacts) -> Found:
    waiting = list(reboot.newer(facts))
    if not waiting:
        return Found(True, "nothing newer than this boot")
    return Found(False, waiting[0], "; ".join(waiting), "reboot, or apuhost deploy INVENTORY")
