"""The kernel role on a host: one GRUB drop-in, our keys nowhere else, a checked boot menu."""

import secrets

from apuhost.changes import kernel as changes
from apuhost.changes.scripts import DPKG_IS_IDLE, LOCK
from apuhost.probes import files, grub_cfg
from apuhost.steps import Step, StepFailed, Target, Work, script
from apuhost.steps.files import files as written

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


def update_initramfs(target: Target) -> Work:
    """Build the initramfs of every kernel again when it holds an older modprobe.d."""
    now = target.known()
    if not changes.initramfs(now.derived, now.facts):
        target.nothing_due("no initramfs is stale")
        return
    yield script(UPDATE_INITRAMFS)
    after = target.known()
    if still := changes.initramfs(after.derived, after.facts):
        raise StepFailed(
            f"update-initramfs ran, but the initramfs {still[0]}: see update-initramfs.conf"
        )


def build_grub_cfg(target: Target) -> Work:
    """Build grub.cfg beside the real one, check it, and only then put it in place."""
    derived, facts = target.known().derived, target.known().facts
    if not changes.grub_cfg_reasons(derived, facts):
        target.nothing_due("grub.cfg holds the wanted line")
        return
    new = f"{changes.GRUB_CFG}.apuhost-{secrets.token_hex(4)}"
    yield script(BUILD, new)
    menu = grub_cfg.parse(target.output(files.command(new)))
    if wrong := grub_cfg.lacking(menu, derived.kernel_parameters, derived.removed_keys):
        raise StepFailed(f"the new boot menu was not activated: {wrong[0]} ({new} holds it)")
    yield script(ACTIVATE, new, *menu.kernel_files)


# Every step asks the host what is due, so an interrupted run is healed by the next one.
STEPS = (
    written("GRUB drop-in", changes.drop_in, 'sh -n "$1"'),
    written("our keys in other GRUB files", changes.grub_files, 'sh -n "$1"'),
    written("our keys in modprobe.d", changes.module_options),
    Step("initramfs", update_initramfs, CHANGING),
    Step("grub.cfg", build_grub_cfg, CHANGING),
)
