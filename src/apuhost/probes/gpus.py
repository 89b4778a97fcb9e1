"""Display controllers on the PCI bus: which GPU, which driver, how much memory it made.

Found by PCI class, not by card number: card0 and card1 change places between boots.
"""

import re
from dataclasses import dataclass

from apuhost.hardware import AMD, Apu, apu
from apuhost.probes.pairs import whole_number

COMMAND = """
for device in /sys/bus/pci/devices/*; do
  case "$(cat "$device/class" 2>/dev/null)" in 0x03*) ;; *) continue ;; esac
  driver=$(readlink "$device/driver" 2>/dev/null)
  printf 'gpu pci=%s vendor=%s device=%s driver=%s gtt=%s vram=%s\\n' "${device##*/}" \\
    "$(cat "$device/vendor")" "$(cat "$device/device")" "${driver##*/}" \\
    "$(cat "$device/mem_info_gtt_total" 2>/dev/null)" \\
    "$(cat "$device/mem_info_vram_total" 2>/dev/null)"
done
true
"""


@dataclass(frozen=True)
class Gpu:
    """PCI address, four-digit ids, bound driver (None: no driver), sizes in bytes."""

    pci: str
    vendor: str
    device: str
    driver: str | None
    gtt_bytes: int | None
    vram_bytes: int | None

    @property
    def amd(self) -> bool:
        """Whether AMD made it."""
        return self.vendor == AMD

    @property
    def apu(self) -> Apu | None:
        """Its row in the table of APUs."""
        return apu(self.device) if self.amd else None

    @property
    def ids(self) -> str:
        """Vendor and device, as lspci prints them."""
        return f"{self.vendor}:{self.device}"


@dataclass(frozen=True)
class Gpus:
    """Every display controller, in bus order."""

    devices: tuple[Gpu, ...]

    @property
    def amd(self) -> tuple[Gpu, ...]:
        """AMD's among them."""
        return tuple(gpu for gpu in self.devices if gpu.amd)

    @property
    def apus(self) -> tuple[Gpu, ...]:
        """The APUs of the table; all of AMD's where none is in it."""
        return tuple(gpu for gpu in self.devices if gpu.apu) or self.amd


def parse(text: str) -> Gpus:
    """Read the lines that COMMAND prints; a line without readable ids is passed over."""
    devices = []
    for line in text.splitlines():
        if not line.startswith("gpu "):
            continue
        fields = dict(field.split("=", 1) for field in line.split()[1:] if "=" in field)
        vendor, device = _pci_id(fields.get("vendor")), _pci_id(fields.get("device"))
        if vendor is None or device is None or not fields.get("pci"):
            continue
        devices.append(
            Gpu(
                pci=fields["pci"],
                vendor=vendor,
                device=device,
                driver=fields.get("driver") or None,
                gtt_bytes=whole_number(fields.get("gtt")),
                vram_bytes=whole_number(fields.get("vram")),
            )
        )
    return Gpus(tuple(devices))


def _pci_id(text: str | None) -> str | None:
    found = re.fullmatch(r"0x([0-9a-f]{4})", text or "")
    return found[1] if found else None
