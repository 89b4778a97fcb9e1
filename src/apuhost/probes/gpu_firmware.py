"""The firmware that amdgpu loaded into each GPU: debugfs, which only root reads.

A package's version does not tell it: distributions put newer files into older packages, and what
is installed is loaded with the next boot. The lines are those of amdgpu_kms.c.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

# A GPU has a folder for each of its minors, and on newer kernels one named by its PCI address.
COMMAND = """
for info in /sys/kernel/debug/dri/*/amdgpu_firmware_info; do
  [ -r "$info" ] || continue
  printf 'card %s\\n' "$(cat "${info%/*}/name")"
  head -c 8192 "$info"
done
"""

_CARD = re.compile(r"card amdgpu dev=(?P<pci>[0-9a-f:.]{12,17})(?: .*)?")
_VERSION = re.compile(
    r"(?P<name>[A-Z][\w ]{0,30}?) feature version: \S{1,12},(?: program: \d{1,5},)?"
    r" (?:fw|firmware) version: 0x(?P<version>[0-9a-f]{8})(?: .*)?"
)
MES = "MES"
"""The scheduler of RDNA3 and later, whose versions decide about hangs."""


@dataclass(frozen=True)
class GpuFirmware:
    """By PCI address: the version of each part, as a number, by its name in amdgpu."""

    cards: Mapping[str, Mapping[str, int]]

    def mes(self, pci: str) -> int | None:
        """The MES version of a GPU, or None where it is not told."""
        return self.cards.get(pci, {}).get(MES)


def parse(text: str) -> GpuFirmware:
    """Read the lines that COMMAND prints; parts of version 0 are not there."""
    cards: dict[str, dict[str, int]] = {}
    parts: dict[str, int] = {}
    for line in text.split("\n"):
        if line.startswith("card "):
            found = _CARD.fullmatch(line)
            parts = cards.setdefault(found["pci"], {}) if found else {}
        elif (told := _VERSION.fullmatch(line)) and int(told["version"], 16):
            parts[told["name"]] = int(told["version"], 16)
    return GpuFirmware(cards)
