"""gpu.health: what the kernel log of this boot tells of the GPU's troubles.

A GPU that recovered works again, and would have lost a request: a warning. One that did not, or
whose memory is gone, serves nothing until somebody acts: Ollama's API answers all the same.
"""

from collections.abc import Iterator
from contextlib import suppress

from apuhost import kernels
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.kernel_log import KernelLog
from apuhost.settings import Settings
from apuhost.settings.kernel import LOCKUP_KEY
from apuhost.verdicts import Found, Layer, Question, Severity, Status, Verdict, judge
from apuhost.verdicts.parameter import DEPLOY

ENOUGH_MS = 10_000
"""A watchdog that lets one step of a long prompt end on the slowest of these GPUs (docs)."""

DRIVER_LOG = "journalctl -k -b | grep -e amdgpu -e firmware"
TROUBLE_LOG = (
    "journalctl -k -b | grep -e 'ring .* timeout' -e 'GPU reset' -e 'page fault' -e 'VRAM is lost'"
)
AGAIN = "reboot; with the power button where the host does not come back by itself"
RELOAD = "reboot (or docker restart {}): what was in the GPU's memory is gone"
NO_TROUBLE = "no trouble since this boot"
NEWER = "newer GPU firmware, kernel and Mesa (apt full-upgrade), then reboot"


def health(settings: Settings, derived: Derived, facts: HostFacts) -> Verdict:
    """Has the GPU worked without a trouble since this boot? One that it got over is a warning."""
    asked = "no hang, reset or fault of the GPU since this boot"
    found = judge(
        Question("gpu.health", asked), ((Layer.EFFECTIVE, lambda: _lasting(settings, facts)),)
    )
    if found.status is not Status.PASS:
        return found
    passing = judge(
        Question("gpu.health", asked, Severity.RECOMMENDED),
        ((Layer.EFFECTIVE, lambda: _passing(derived, facts)),),
    )
    return found if passing.status is Status.PASS else passing


def _lasting(settings: Settings, facts: HostFacts) -> Found:
    """What the GPU has not got over."""
    simulated = settings.host.host_simulated
    if simulated and facts.machine.virtual:
        return Found(None, f"simulated GPU {simulated.gpu}: a VM has none")
    log = facts.kernel_log
    told = _told(log)
    if log.gpu_init_failed and not _bound(facts):
        return Found(False, "the GPU's driver failed to start", DRIVER_LOG, DRIVER_LOG)
    resets = log.gpu_resets
    if resets.begun > resets.completed + resets.failed:
        return Found(False, f"a GPU reset never ended ({told})", TROUBLE_LOG, AGAIN)
    if resets.failed:
        return Found(False, f"a GPU reset failed ({told})", TROUBLE_LOG, AGAIN)
    if log.vram_lost:
        name = settings.ollama.ollama_container_name
        return Found(False, f"the GPU's memory was lost ({told})", TROUBLE_LOG, RELOAD.format(name))
    return Found(True, NO_TROUBLE)


def _passing(derived: Derived, facts: HostFacts) -> Found:
    """What the GPU has got over; in a log without its beginning, what is left of it."""
    log = facts.kernel_log
    if told := _told(log):
        return Found(False, f"{told}; recovered", TROUBLE_LOG, _fix(log, derived, facts))
    if log.gpu_init_failed:
        return Found(False, "the driver started at a second try", DRIVER_LOG, NEWER)
    if log.cmdline is None:
        raise Unreadable("kernel_log: its beginning is gone; nothing in what is left of it")
    return Found(True, NO_TROUBLE)


def _bound(facts: HostFacts) -> bool:
    """Whether each of AMD's GPUs has its driver and memory by now."""
    gpus = facts.gpus.amd
    return bool(gpus) and all(gpu.driver == "amdgpu" and gpu.gtt_bytes for gpu in gpus)


def _told(log: KernelLog) -> str:
    """Everything that happened, and how often."""
    return ", ".join(_counts(log))


def _counts(log: KernelLog) -> Iterator[str]:
    counts = {
        "ring timeout": log.ring_timeouts,
        "ring reset": log.ring_resets.succeeded,
        "failed ring reset": log.ring_resets.failed,
        "GPU reset": max(log.gpu_resets.begun, log.gpu_resets.completed + log.gpu_resets.failed),
        "page fault": log.gpu_page_faults,
    }
    yield from (f"{count} {name}{'s' * (count > 1)}" for name, count in counts.items() if count)
    if log.vram_lost:
        yield "memory lost"


def _fix(log: KernelLog, derived: Derived, facts: HostFacts) -> str:
    """A job that outlasts the watchdog needs more time or less work; other troubles, newer code."""
    if not log.ring_timeouts:
        return NEWER
    limit = _watchdog_ms(derived, facts)
    if 0 < limit < ENOUGH_MS:
        return f"kernel_lockup_timeout_ms: {ENOUGH_MS} (now {limit}), then {DEPLOY}"
    return f"a smaller num_batch (256) for the models in models_list, then {DEPLOY}"


def _watchdog_ms(derived: Derived, facts: HostFacts) -> int:
    """What a job may take on the rings that compute; negative: as long as it likes."""
    rings = derived.rings
    with suppress(Unreadable, kernels.LockupTimeoutError):
        if (typed := facts.modules.live.get(LOCKUP_KEY)) is not None:
            rings = kernels.ring_timeouts(typed, facts.kernel.running)
    return min(rings.gfx, rings.compute)
