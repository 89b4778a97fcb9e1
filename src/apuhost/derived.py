"""Derived: what the settings come to on one host. Templates see Settings and Derived only."""

from dataclasses import asdict, dataclass
from typing import Any

from apuhost import kernels, sizing
from apuhost.host_facts import HostFacts
from apuhost.kernels import RingTimeouts
from apuhost.settings import Settings
from apuhost.settings.kernel import GTT_KEY, IOMMU_KEYS, LOCKUP_KEY


@dataclass(frozen=True)
class Derived:
    """For one host: GTT in GiB, memory in KiB, pages of 4 KiB; the GPU by its PCI device id."""

    settings: Settings
    mem_total_kib: int
    gtt_gib: int | None
    pages_limit: int | None
    rings: RingTimeouts
    kernel_parameters: tuple[str, ...]
    removed_keys: frozenset[str]
    gpu: str

    @property
    def managed_keys(self) -> frozenset[str]:
        """Keys that our drop-in alone may set: wherever else they stand, they are taken out."""
        return self.removed_keys | {key_of(parameter) for parameter in self.kernel_parameters}


def derive(settings: Settings, facts: HostFacts) -> Derived:
    """What the settings come to on this host.

    A VM that declares simulated hardware is sized as that hardware.

    Raises:
        Unreadable: memory, kernel, GPUs or kind of machine could not be read.
    """
    simulated = settings.host.host_simulated if facts.machine.virtual else None
    memory = simulated.memory_kib if simulated else facts.meminfo.total_kib
    wanted = settings.kernel.kernel_gtt_gib
    gtt = sizing.automatic_gtt_gib(memory) if wanted == "auto" else wanted
    typed = str(settings.kernel.kernel_lockup_timeout_ms)
    return Derived(
        settings=settings,
        mem_total_kib=memory,
        gtt_gib=gtt,
        pages_limit=None if gtt is None else sizing.pages_limit(gtt),
        rings=kernels.ring_timeouts(typed, facts.kernel.running),
        kernel_parameters=_parameters(settings, gtt),
        removed_keys=_removed_keys(settings, gtt),
        gpu=simulated.gpu.partition(":")[2] if simulated else _gpu(facts),
    )


def as_data(derived: Derived) -> dict[str, Any]:
    """In JSON's types, for another tool; the settings, which are variables themselves, left out."""
    return {
        "mem_total_kib": derived.mem_total_kib,
        "gtt_gib": derived.gtt_gib,
        "pages_limit": derived.pages_limit,
        "rings_ms": asdict(derived.rings),
        "parameters": list(derived.kernel_parameters),
        "managed_keys": sorted(derived.managed_keys),
        "gpu": derived.gpu,
    }


def _gpu(facts: HostFacts) -> str:
    return facts.gpus.amd[0].device if facts.gpus.amd else ""


def key_of(parameter: str) -> str:
    """The key of "key=value" or "key"."""
    return parameter.partition("=")[0]


def _parameters(settings: Settings, gtt: int | None) -> tuple[str, ...]:
    kernel = settings.kernel
    iommu = {"off": ("amd_iommu=off",), "pt": ("iommu=pt",), "default": ()}[kernel.kernel_amd_iommu]
    pages = () if gtt is None else (f"{GTT_KEY}={sizing.pages_limit(gtt)}",)
    lockup = f"{LOCKUP_KEY}={kernel.kernel_lockup_timeout_ms}"
    return (*iommu, *pages, lockup, *kernel.kernel_extra_args)


def _removed_keys(settings: Settings, gtt: int | None) -> frozenset[str]:
    # With amd_iommu=off the driver never starts, so an operator's iommu=... does no harm there.
    off = settings.kernel.kernel_amd_iommu == "off"
    present = {key_of(parameter) for parameter in _parameters(settings, gtt)}
    managed = {GTT_KEY} if off else {GTT_KEY, *IOMMU_KEYS}
    return frozenset({*settings.kernel.kernel_remove_args, *managed} - present)
