"""Which GPUs llama-server sees, and which of them Ollama uses: text in, records out.

facts/ollama.md section 2. Nothing is invented here: name and memory are llama-server's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .sizes import GIB, MIB, binary

MINIMUM = 457 * MIB
_LISTED = re.compile(r"^\s+(.+?):\s+(.+?)\s+\((\d+)\s+MiB,\s+(\d+)\s+MiB\s+free\)", re.MULTILINE)
_UNIFIED = re.compile(r"ggml_vulkan:\s+(\d+)\s+=.*\|\s+uma:\s+([01])\s+\|")
_CONTEXT_TIERS = ((47 * GIB, 262144), (23 * GIB, 32768), (0, 4096))


@dataclass(frozen=True)
class Device:
    """A GPU as Ollama's discovery keeps it."""

    id: str
    library: str
    name: str
    description: str
    total: int
    free: int
    integrated: bool
    filter_id: str = ""

    def dropped(self) -> dict[str, object]:
        """What the line about a dropped GPU says."""
        return {
            "id": self.id, "library": self.library, "compute": "0.0", "name": self.name,
            "description": self.description, "pci_id": "",
        }  # fmt: skip

    def used(self) -> dict[str, object]:
        """What the `inference compute` line says."""
        return {
            "id": self.id, "filter_id": self.filter_id, "library": self.library, "compute": "0.0",
            "name": self.name, "description": self.description,
            "libdirs": f"ollama,{self.library.lower()}", "driver": "0.0", "pci_id": "",
            "type": "iGPU" if self.integrated else "discrete", "total": binary(self.total),
            "available": binary(self.free),
        }  # fmt: skip


def cpu(total: int, available: int) -> dict[str, object]:
    """The `inference compute` line without any GPU; it has no filter_id."""
    return {
        "id": "cpu", "library": "cpu", "compute": "", "name": "cpu", "description": "cpu",
        "libdirs": "ollama", "driver": "", "pci_id": "", "type": "", "total": binary(total),
        "available": binary(available),
    }  # fmt: skip


def parse(text: str) -> list[Device]:
    """The devices in what `llama-server --list-devices` and a short server start print."""
    unified = {int(index): flag == "1" for index, flag in _UNIFIED.findall(text)}
    return [
        Device(str(index), _library(name), name, description,
               int(total) * MIB, int(free) * MIB, unified.get(index, False))
        for index, (name, description, total, free) in enumerate(_LISTED.findall(text))
        if int(total)
    ]  # fmt: skip


def _library(name: str) -> str:
    return re.sub(r"\d+$", "", name)


def admit(devices: Sequence[Device], igpu: bool | None) -> tuple[list[Device], list[Device]]:
    """Those kept and those dropped: a Vulkan iGPU only if OLLAMA_IGPU_ENABLE says so."""
    kept = [device for device in devices if igpu or not device.integrated]
    return kept, [device for device in devices if device not in kept]


def renumber(devices: Sequence[Device], visible: str) -> list[Device]:
    """Numbers after dropping; the filter is what the child gets as GGML_VK_VISIBLE_DEVICES."""
    chosen = [index.strip() for index in visible.split(",") if index.strip()]
    return [
        replace(device, id=str(place), filter_id=(chosen[int(device.id)]
                if int(device.id) < len(chosen) else device.id))
        for place, device in enumerate(devices)
    ]  # fmt: skip


def default_context(total: int) -> int:
    """Tokens of context by the GPUs' memory, where nobody asks for another number."""
    return next(context for least, context in _CONTEXT_TIERS if total >= least)


def memory(meminfo: str, limits: Mapping[str, str]) -> tuple[int, int, int]:
    """The machine's or the container's total and free memory, and free swap, in bytes.

    Args:
        meminfo: /proc/meminfo.
        limits: what `memory.max` and `memory.current` of the control group hold.
    """
    rows = {key: int(value.split()[0]) * 1024 for key, _, value in
            (line.partition(":") for line in meminfo.splitlines()) if value.split()}  # fmt: skip
    total, free = rows.get("MemTotal", 0), rows.get("MemAvailable", 0)
    if limits.get("memory.max", "").isdigit():
        total = int(limits["memory.max"])
    if limits.get("memory.current", "").isdigit():
        free = total - int(limits["memory.current"])
    return total, free, rows.get("SwapFree", 0)
