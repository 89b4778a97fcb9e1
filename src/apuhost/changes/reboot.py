"""Why a host must be rebooted. State decides, never what this run happened to change."""

from collections.abc import Iterator

from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.kernels import same_meaning

GPU_WITHOUT_DRIVER = "an AMD GPU has no driver"


def reasons(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Every reason to reboot now; none when this boot already has everything."""
    return (*_line(derived, facts), *newer(facts), *_gpu(facts))


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
    """What was installed after this boot began."""
    booted_at = facts.boot.booted_at
    for kernel in facts.kernel.installed:
        if (kernel.installed_at or 0) > booted_at:
            yield f"kernel {kernel.release} is newer than this boot"
        elif (kernel.initramfs_at or 0) > booted_at and kernel.release == facts.kernel.running:
            yield f"the initramfs of {kernel.release} is newer than this boot"
    if facts.boot.newer_firmware and facts.gpus.amd:
        yield f"GPU firmware is newer than this boot ({facts.boot.newer_firmware})"


def _gpu(facts: HostFacts) -> Iterator[str]:
    """A GPU without a driver is worth one reboot; if that did not help, a second will not."""
    idle = [gpu.pci for gpu in facts.gpus.amd if gpu.driver is None]
    if idle and GPU_WITHOUT_DRIVER not in facts.boot.rebooted_for:
        yield f"{GPU_WITHOUT_DRIVER}"
