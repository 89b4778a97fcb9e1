"""/sys/class/iommu: whether an IOMMU is at work (both folders are empty when it is off).

The firmware describes one in ACPI's table IVRS (AMD) or DMAR (Intel): without it the kernel has
nothing to start (drivers/iommu/amd/init.c).
"""

from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.pairs import pairs, whole_number

COMMAND = """
for unit in /sys/class/iommu/*; do [ -e "$unit" ] && printf 'unit=%s\\n' "${unit##*/}"; done
groups=$(ls /sys/kernel/iommu_groups 2>/dev/null | wc -l)
translated=$(cat /sys/kernel/iommu_groups/*/type 2>/dev/null | grep -c '^DMA')
printf 'groups=%s\\ntranslated=%s\\n' "$groups" "$translated"
tables=/sys/firmware/acpi/tables
if [ -e $tables/IVRS ] || [ -e $tables/DMAR ]; then
  echo described=yes
elif [ -e $tables/FACP ]; then
  echo described=no
fi
"""


@dataclass(frozen=True)
class Iommu:
    """Units under /sys/class/iommu, number of groups, and of groups whose DMA is translated.

    `described`: whether the firmware tells the kernel of an IOMMU; None: its tables are not there.
    """

    units: tuple[str, ...]
    groups: int
    translated: int
    described: bool | None

    @property
    def state(self) -> str:
        """Off, passthrough or translated."""
        if not self.units and not self.groups:
            return "off"
        return "translated" if self.translated else "passthrough"


def parse(text: str) -> Iommu:
    """Read the lines that COMMAND prints.

    Raises:
        ParseError: the counts are not there.
    """
    found = list(pairs(text))
    counts = {key: whole_number(value) for key, value in found if key != "unit"}
    groups, translated = counts.get("groups"), counts.get("translated")
    if groups is None or translated is None:
        raise ParseError("the groups were not counted")
    units = tuple(value for key, value in found if key == "unit")
    described = {"yes": True, "no": False}.get(dict(found).get("described", ""))
    return Iommu(units, groups, translated, described)
