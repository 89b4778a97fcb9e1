"""Why a host must be rebooted. State decides, never what this run happened to change."""

from collections.abc import Iterable, Iterator

from apuhost.changes import FIRMWARE, HostPlan, RolePlan
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.kernels import same_meaning

GPU_WITHOUT_DRIVER = "an AMD GPU has no driver"


def reasons(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Every reason to reboot now; none when this boot already has everything.

    What this very boot was made for and did not cure is none: a second reboot would not help.
    """
    return tuple(why for why in _all(derived, facts) if why not in facts.boot.rebooted_for)


def uncured(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """What this boot was made for, and which still holds."""
    return tuple(why for why in _all(derived, facts) if why in facts.boot.rebooted_for)


def planned(derived: Derived, facts: HostFacts, applied: Iterable[RolePlan]) -> tuple[str, ...]:
    """Every reason to reboot at the end of a deploy that does all this."""
    coming = HostPlan(tuple(applied))
    rebuilt = ("a new initramfs must be booted",) if coming.why("initramfs") else ()
    firmware = ("GPU firmware comes new",) if coming.why(FIRMWARE) and facts.gpus.amd else ()
    return (*reasons(derived, facts), *rebuilt, *firmware)


def _all(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    applied = derived.settings.host.host_roles
    line = _line(derived, facts) if "kernel" in applied else ()
    hardware = (*newer(facts), *_gpu(facts)) if {"kernel", "vulkan"} & set(applied) else ()
    return (*line, *hardware)


def _line(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """Where the running kernel line means something else than what is wanted."""
    running = facts.cmdline
    lacking = [each for each in derived.kernel_parameters if not _has(each, facts)]
    unwanted = sorted(key for key in derived.removed_keys if key in running)
    if lacking:
        yield f"the running line lacks {' '.join(lacking)}"
    if unwanted:
        yield f"the running line still has {' '.join(unwanted)}"


def _has(parameter: str, facts: HostFacts) -> bool:
    key, given, value = parameter.partition("=")
    found = facts.cmdline.effective(key)
    wanted = value if given else None
    return key in facts.cmdline and same_meaning(key, wanted, found, facts.kernel.running)


def newer(facts: HostFacts) -> Iterator[str]:
    """What was installed after this boot began (a time still to come is a clock's fault)."""
    since = range(facts.boot.booted_at + 1, facts.boot.now + 1)
    for kernel in facts.kernel.installed:
        if kernel.installed_at in since:
            yield f"kernel {kernel.release} is newer than this boot"
        elif kernel.initramfs_at in since and kernel.release == facts.kernel.running:
            yield f"the initramfs of {kernel.release} is newer than this boot"
    if facts.boot.newer_firmware and facts.gpus.amd:
        yield f"GPU firmware is newer than this boot ({facts.boot.newer_firmware})"


def _gpu(facts: HostFacts) -> Iterator[str]:
    if any(gpu.driver is None for gpu in facts.gpus.amd):
        yield GPU_WITHOUT_DRIVER
