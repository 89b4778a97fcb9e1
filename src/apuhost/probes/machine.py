"""The machine itself: DMI names, host name and whether it is virtual."""

from dataclasses import dataclass

from apuhost.probes.pairs import pairs

COMMAND = """
printf 'hostname=%s\\n' "$(uname -n)"
printf 'virtualization=%s\\n' "$(systemd-detect-virt --vm 2>/dev/null)"
for name in sys_vendor product_name board_name bios_version bios_date; do
  printf '%s=%s\\n' "$name" "$(cat /sys/class/dmi/id/$name 2>/dev/null)"
done
"""


@dataclass(frozen=True)
class Machine:
    """Names as printed; virtualization is systemd-detect-virt --vm's word."""

    hostname: str | None
    virtualization: str | None
    vendor: str | None
    product: str | None
    board: str | None
    bios_version: str | None
    bios_date: str | None

    @property
    def virtual(self) -> bool:
        """Whether systemd-detect-virt names a virtual machine (not told counts as bare metal)."""
        return self.virtualization not in (None, "none")


def parse(text: str) -> Machine:
    """Read the lines that COMMAND prints; what is missing or empty is None."""
    values = {key: value for key, value in pairs(text) if value}
    return Machine(
        hostname=values.get("hostname"),
        virtualization=values.get("virtualization"),
        vendor=values.get("sys_vendor"),
        product=values.get("product_name"),
        board=values.get("board_name"),
        bios_version=values.get("bios_version"),
        bios_date=values.get("bios_date"),
    )
