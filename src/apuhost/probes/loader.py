"""The boot loader: which one is in charge, and whether GRUB's tools are here."""

from dataclasses import dataclass

from apuhost.probes.pairs import pairs

# LoaderInfo is the Boot Loader Interface's variable (systemd-boot, and GRUB from 2.12 on): 4 bytes
# of attributes, then UTF-16.
COMMAND = """
guid=4a67b082-0a4c-41cf-b6c7-440b29bb8c4f
info=/sys/firmware/efi/efivars/LoaderInfo-$guid
[ -d /sys/firmware/efi ] && echo efi=yes
[ -r "$info" ] && printf 'info=%s\\n' "$(tail -c +5 "$info" | tr -cd '[:print:]')"
for tool in grub-mkconfig grub-script-check update-initramfs; do
  command -v "$tool" >/dev/null && printf 'tool=%s\\n' "$tool"
done
for file in /boot/grub/grub.cfg /etc/default/grub /etc/kernel/proxmox-boot-uuids \\
  /etc/kernelstub/configuration /boot/extlinux/extlinux.conf; do
  [ -e "$file" ] && printf 'file=%s\\n' "$file"
done
now=$(date +%s)
for file in /etc/default/grub.d/zz-apuhost.cfg /etc/default/grub.before-apuhost \\
  /etc/default/grub.d/*.before-apuhost; do
  source=${file%.before-apuhost}
  [ -e "$file" ] && [ "$source" -nt /boot/grub/grub.cfg ] || continue
  # A time still to come is a clock's fault; a menu built now would be older again.
  [ "$(stat -c %Y "$source")" -le "$now" ] && printf 'newer=%s\\n' "$source"
done
true
"""


@dataclass(frozen=True)
class Loader:
    """What the loader says of itself over EFI (None: nothing), tools and files that are there.

    `newer_than_menu`: files that apuhost wrote after grub.cfg was last built.
    """

    efi: bool
    info: str | None
    tools: frozenset[str]
    files: frozenset[str]
    newer_than_menu: tuple[str, ...]


def parse(text: str) -> Loader:
    """Read the lines that COMMAND prints; other lines are passed over."""
    found = list(pairs(text))
    values = dict(found)
    return Loader(
        efi=values.get("efi") == "yes",
        info=values.get("info") or None,
        tools=frozenset(value for key, value in found if key == "tool"),
        files=frozenset(value for key, value in found if key == "file"),
        newer_than_menu=tuple(value for key, value in found if key == "newer"),
    )
