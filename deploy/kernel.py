"""The kernel role on a host: one GRUB drop-in, our keys nowhere else, a checked boot menu."""

import secrets

from pyinfra import host
from pyinfra.api import deploy, operation

from apuhost.changes import kernel as changes
from apuhost.changes.scripts import DPKG_IS_IDLE, LOCK
from apuhost.probes import files, grub_cfg
from deploy.facts import Known, RootOutput, known
from deploy.operations import Commands, asks_host, fails, root_script, write_files

CHANGING = ("kernel", "boot", "loader", "grub_cfg", "disk")

PREVIOUS = f"{changes.GRUB_CFG}.previous"

# $1 the new menu. grub-mkconfig ends by writing over its target in place (trixie: cat grub.cfg.new
# > grub.cfg): a power cut there leaves no boot menu. So it writes beside the real file. What the
# real one held then is kept: an update-grub in between makes the new menu an old one.
BUILD = f"""set -e
{LOCK}
{DPKG_IS_IDLE}
umask 077
find /boot/grub -maxdepth 1 -name 'grub.cfg.apuhost-*' -mmin +60 -delete
sha256sum <{changes.GRUB_CFG} >"$1.from"
grub-mkconfig -o "$1" 2>&1
grub-script-check "$1"
"""

# $1 the new menu, then the kernel files that it boots. The menu before stays that of this boot.
ACTIVATE = f"""set -e
{LOCK}
{DPKG_IS_IDLE}
new=$1; shift
menu=$(readlink -f {changes.GRUB_CFG})
if [ "$(sha256sum <"$menu")" != "$(cat "$new.from")" ]; then
  echo "the boot menu was changed by someone else meanwhile: run again" >&2; exit 1
fi
for kernel in "$@"; do
  [ -s "/boot/$kernel" ] || {{ echo "/boot/$kernel is gone: run again" >&2; exit 1; }}
done
chmod --reference="$menu" "$new"
sync "$new"
booted_at=$(sed -n 's/^btime //p' /proc/stat)
if [ ! -e {PREVIOUS} ] || [ "$(stat -c %Z {PREVIOUS})" -lt "$booted_at" ]; then
  cp -p "$menu" {PREVIOUS}.apuhost-new
  sync {PREVIOUS}.apuhost-new
  mv -T {PREVIOUS}.apuhost-new {PREVIOUS}
fi
mv -T "$new" "$menu"
sync "$(dirname "$menu")"
rm -f "$new.from"
"""

UPDATE_INITRAMFS = f"set -e\n{LOCK}\nupdate-initramfs -u -k all"


@deploy("kernel")
def kernel() -> None:
    """Every step asks the host what is due, so an interrupted run is healed by the next one."""
    write_files(name="GRUB drop-in", changes=changes.drop_in, check='sh -n "$1"')
    write_files(name="our keys in other GRUB files", changes=changes.grub_files, check='sh -n "$1"')
    write_files(name="our keys in modprobe.d", changes=changes.module_options)
    update_initramfs(name="initramfs")
    build_grub_cfg(name="grub.cfg")


@operation()
@asks_host(CHANGING)
def update_initramfs(host_is: Known) -> Commands:
    """Build the initramfs of every kernel again when it holds an older modprobe.d."""
    if not changes.initramfs(host_is.derived, host_is.facts):
        host.noop("no initramfs is stale")
        return
    yield root_script(UPDATE_INITRAMFS)
    still = changes.initramfs(host_is.derived, known().facts)
    if still:
        yield fails(
            f"update-initramfs ran, but the initramfs {still[0]}: see update-initramfs.conf"
        )


@operation()
@asks_host(CHANGING)
def build_grub_cfg(host_is: Known) -> Commands:
    """Build grub.cfg beside the real one, check it, and only then put it in place."""
    derived = host_is.derived
    if not changes.grub_cfg_reasons(derived, host_is.facts):
        host.noop("grub.cfg holds the wanted line")
        return
    new = f"{changes.GRUB_CFG}.apuhost-{secrets.token_hex(4)}"
    yield root_script(BUILD, new)
    menu = grub_cfg.parse(host.get_fact(RootOutput, script=files.command(new)))
    wrong = grub_cfg.lacking(menu, derived.kernel_parameters, derived.removed_keys)
    if wrong:
        yield fails(f"the new boot menu was not activated: {wrong[0]} ({new} holds it)")
    else:
        yield root_script(ACTIVATE, new, *menu.kernel_files)
