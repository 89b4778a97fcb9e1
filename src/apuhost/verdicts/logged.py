"""The kernel log as a further witness: where it was not read, it tells nothing."""

from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.kernel_log import KernelLog, LoggedGpu


def kernel_log(facts: HostFacts) -> KernelLog | None:
    """The log of this boot, or None."""
    try:
        return facts.kernel_log
    except Unreadable:
        return None


def logged_gpu(facts: HostFacts, pci: str) -> LoggedGpu | None:
    """What the log tells of a GPU's memory; kernels before 6.17 name an only GPU nowhere."""
    log = kernel_log(facts)
    found = log.gpus if log else ()
    named = next((gpu for gpu in found if gpu.pci == pci), None)
    only = found[0] if len(found) == 1 and found[0].pci is None else None
    return named or only
