"""The kernel log of the last boot in it: the GPU's memory, its troubles, the IOMMU, parameters.

Lines are evidence: what is in force is what sysfs says.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.kernel_boot import TELLING, Boot, boot_after
from apuhost.probes.kernel_lines import kernel_lines
from apuhost.probes.logged_gpus import LoggedGpu

__all__ = ["COMMAND", "GpuResets", "KernelLog", "LoggedGpu", "RingResets", "parse", "read"]

_UNREAD = "apuhost: neither journalctl nor dmesg gives a kernel log"
# The first lines tell how the host started. Later ones are kept only where they tell trouble,
# and of those the last: a GPU that resets all night must not fill the facts.
FIRST_WORDS = (
    r"amdgpu|\[drm|iommu|IOMMU|AMD-Vi|DMAR|ommand line|Linux version|unknown parameter"
    r"|: \[....:....\] type |Freeing unused kernel"
)
LATER_WORDS = (
    r"GPU reset|GPU Recovery|VRAM is lost|[Rr]ing .* (timeout|reset)|page fault|GPU fault"
    r"|IO_PAGE_FAULT|Fatal error|failed with error|memory ready|Capping|TTM size|Initialized amdgpu"
)
_FIRST, _LAST, _MOST_BYTES_OF_A_LINE = 500, 1000, 2000
_TIMEOUT_S = 20
COMMAND = f"""
log() {{
  if journalctl -k -b -q -n 1 --no-pager -o cat | grep -q .; then
    timeout {_TIMEOUT_S} journalctl -k -b -q --no-pager --no-hostname -o short-monotonic
  else
    timeout {_TIMEOUT_S} dmesg
  fi
}}
log | cut -b 1-{_MOST_BYTES_OF_A_LINE} | awk '
  n < {_FIRST} && /{FIRST_WORDS}/ {{ print; n++; next }}
  n >= {_FIRST} && /{LATER_WORDS}/ {{ kept[m++ % {_LAST}] = $0 }}
  END {{
    for (i = m > {_LAST} ? m - {_LAST} : 0; i < m; i++) print kept[i % {_LAST}]
    if (!NR) print "{_UNREAD}"
  }}'
"""


@dataclass(frozen=True)
class GpuResets:
    """Resets of the whole GPU; what has begun and neither completed nor failed never ended."""

    begun: int
    completed: int
    failed: int


@dataclass(frozen=True)
class RingResets:
    """Resets of one ring, tried before one of the whole GPU."""

    succeeded: int
    failed: int


@dataclass(frozen=True)
class KernelLog:
    """All of the last boot in the log; None where it does not tell.

    `gtt_capped_mib`: the kernel cut GTT down to this. `ttm_limit_mib`: the limit of TTM, told
    where amdgpu.gttsize differs. `iommu`: off, passthrough, translated, on or unknown.
    `unknown_parameters`: as the kernel prints them, a module's as MODULE.NAME.
    `gpu_page_faults`: in the GPU's page tables, and by the GPU in the IOMMU's.
    """

    gpus: tuple[LoggedGpu, ...]
    gtt_capped_mib: int | None
    ttm_limit_mib: int | None
    iommu: str
    cmdline: str | None
    unknown_parameters: tuple[str, ...]
    gpu_init_failed: bool
    gpu_resets: GpuResets
    vram_lost: bool
    ring_timeouts: int
    ring_resets: RingResets
    gpu_page_faults: int


def parse(text: str) -> KernelLog:
    """Read a log, whole, cut or broken into lines, behind any of dmesg's and journald's prefixes.

    Raises:
        ParseError: no line is a kernel's, or the host gave no log.
    """
    return read(text.split("\n"))


def read(lines: Iterable[str]) -> KernelLog:
    """Read the lines of a log, in constant memory.

    Raises:
        ParseError: as `parse`.
    """
    boot, certain, anything = Boot(), False, False
    for line in kernel_lines(lines, TELLING):
        if line.text.startswith(_UNREAD):
            raise ParseError(_UNREAD.removeprefix("apuhost: "))
        anything = True
        certain = certain or line.certain
        boot = boot_after(boot, line)
    if anything and not certain:
        raise ParseError("no line of a kernel's log in it")
    return _record(boot)


def _record(boot: Boot) -> KernelLog:
    events, found = boot.gpus.events, tuple(boot.gpus.gpus)
    of_iommu = sum(boot.iommu.faults[gpu.pci] for gpu in found if gpu.pci)
    return KernelLog(
        gpus=found,
        gtt_capped_mib=boot.gpus.gtt_capped_mib,
        ttm_limit_mib=boot.gpus.ttm_limit_mib,
        iommu=boot.iommu.state(boot.cmdline or ""),
        cmdline=boot.cmdline,
        unknown_parameters=tuple(boot.unknown),
        gpu_init_failed=events["gpu_init_failed"] > 0,
        gpu_resets=GpuResets(
            events["resets_begun"], events["resets_completed"], events["resets_failed"]
        ),
        vram_lost=events["vram_lost"] > 0,
        ring_timeouts=events["ring_timeouts"],
        ring_resets=RingResets(events["ring_resets_succeeded"], events["ring_resets_failed"]),
        gpu_page_faults=events["page_faults"] + of_iommu,
    )
