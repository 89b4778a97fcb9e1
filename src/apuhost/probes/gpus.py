"""Display controllers on the PCI bus: which GPU, which driver, how much memory it made.

Found by PCI class, not by card number: card0 and card1 change places between boots.
"""

import re
from dataclasses import dataclass

from apuhost.hardware import AMD, Apu, apu
from apuhost.probes import ParseError
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

_KEYS = frozenset({"pci", "vendor", "device", "driver", "gtt", "vram"})


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
    """Read the lines that COMMAND prints; a device without readable ids has gone meanwhile.

    Raises:
        ParseError: a line is cut, or is another program's.
    """
    if text.strip() and not text.endswith("\n"):
        raise ParseError("the last line is cut")
    lines = (line for line in text.splitlines() if line.strip())
    read = (_gpu(_fields(line)) for line in lines)
    return Gpus(tuple(gpu for gpu in read if gpu))


def _fields(line: str) -> dict[str, str]:
    word, *pairs = line.split()
    fields = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    if word != "gpu" or not fields.keys() >= _KEYS:
        raise ParseError("a line is cut, or no `gpu` line")
    return fields


def _gpu(fields: dict[str, str]) -> Gpu | None:
    vendor, device = _pci_id(fields["vendor"]), _pci_id(fields["device"])
    if vendor is None or device is None or not fields["pci"]:
        return None
    return Gpu(
        pci=fields["pci"],
        vendor=vendor,
        device=device,
        driver=fields["driver"] or None,
        gtt_bytes=whole_number(fields["gtt"]),
        vram_bytes=whole_number(fields["vram"]),
    )


def _pci_id(text: str) -> str | None:
    found = re.fullmatch(r"0x([0-9a-f]{4})", text)
    return found[1] if found else None
