"""What the kernel log of one boot tells of the IOMMU, and of the accesses that it refused.

The texts are those of drivers/iommu/iommu.c and drivers/iommu/amd/.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from apuhost.probes import cmdline

_MOST_DEVICES = 4096


@dataclass
class LoggedIommu:
    """What was read so far; `faults`: refused accesses by PCI address."""

    domain_type: str | None = None
    works: bool = False
    disabled: bool = False
    devices_listed: bool = False
    initialized: bool = False
    translates: bool = False
    faults: Counter[str] = field(default_factory=Counter)

    def state(self, line: str) -> str:
        """Off, passthrough, translated, on (which way is not told) or unknown.

        The core names a default domain type without any IOMMU, too; with one, each of the PCI
        devices that were listed is added to a group before the kernel has initialized itself.

        Args:
            line: the kernel's parameters, "" if they are not known.
        """
        if self.works:
            return self.domain_type or ("translated" if self.translates else "on")
        if self.disabled or _turned_off(line) or (self.devices_listed and self.initialized):
            return "off"
        return self.domain_type or "unknown"


_DOMAIN = re.compile(r"^iommu:\s*Default domain type:\s*(Translated|Passthrough)")
# `Unknown option` is a word on amd_iommu=; the module of IOMMUv2 says that there is none.
_WORKS = re.compile(
    r"Adding to iommu group [0-9]|Detected AMD IOMMU #|DMAR: Intel\(R\) Virtualization|AMD-Vi: "
)
_WORKS_NOT = re.compile(
    r"AMD-Vi: (?:Unknown option|ivrs, )|functionality not available|disabl|fail|unable"
    "|not supported|firmware bug",
    re.IGNORECASE,
)
_INITIALIZED = re.compile(r"^Freeing unused kernel|^amdgpu ")
_ANY = re.compile(r"iommu|IOMMU|AMD-Vi|DMAR|\] type |^Freeing|^amdgpu ")
_DISABLED = re.compile(r"AMD IOMMU disabled")
_LISTED = re.compile(r"^pci [0-9a-f:.]{12,17}: \[[0-9a-f]{4}:[0-9a-f]{4}\] type ")
# Domain 0 is no domain: the device is not attached, so nothing of it is translated.
_FAULT = re.compile(
    r"AMD-Vi: Event logged \[IO_PAGE_FAULT\s+(?:device=([0-9a-f:.]{7,17}) )?domain=0x([0-9a-f]{4})"
)


def read_iommu_message(state: LoggedIommu, pci: str | None, text: str) -> None:
    """Put what a message tells, `pci` where it names a device."""
    if not _ANY.search(text):
        return
    if domain := _DOMAIN.search(text):
        state.domain_type = domain[1].lower()
    if _WORKS.search(text) and not _WORKS_NOT.search(text):
        state.works = True
    state.disabled = state.disabled or _DISABLED.search(text) is not None
    state.devices_listed = state.devices_listed or _LISTED.search(text) is not None
    state.initialized = state.initialized or _INITIALIZED.search(text) is not None
    if fault := _FAULT.search(text):
        device = pci or fault[1] or ""
        device = device if device.count(":") == 2 else f"0000:{device}"  # noqa: PLR2004 -- PCI
        state.translates = state.translates or int(fault[2], 16) != 0
        if len(state.faults) < _MOST_DEVICES or device in state.faults:
            state.faults[device] += 1


def _turned_off(line: str) -> bool:
    """Whether amd_iommu= or iommu= says off: no later value takes that back (both are flags)."""
    read = cmdline.read(line)
    values = (*read.values("amd_iommu"), *read.values("iommu"))
    return any("off" in (value or "").split(",") for value in values)
