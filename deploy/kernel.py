"""The kernel role on a host: one GRUB drop-in, our keys nowhere else, a checked boot menu."""

from pyinfra import host
from pyinfra.api import deploy, operation

from apuhost.changes import kernel as changes
from apuhost.probes import files, grub_cfg
from deploy.facts import Known, RootOutput
from deploy.operations import LOCK, Commands, asks_host, fails, root_script, write_files

NEW = f"{changes.GRUB_CFG}.apuhost-new"
PREVIOUS = f"{changes.GRUB_CFG}.previous"

# grub-mkconfig ends by writing over its target in place (trixie: cat grub.cfg.new > grub.cfg): a
# power cut there leaves no boot menu. So it writes beside the real file.
BUILD = f"""set -e
{LOCK}
umask 077
rm -f {NEW}
grub-mkconfig -o {NEW} 2>&1
grub-script-check {NEW}
chmod --reference={changes.GRUB_CFG} {NEW}
"""

ACTIVATE = f"""set -e
{LOCK}
sync {NEW}
cp -p {changes.GRUB_CFG} {PREVIOUS}.apuhost-new
sync {PREVIOUS}.apuhost-new
mv -T {PREVIOUS}.apuhost-new {PREVIOUS}
mv -T {NEW} {changes.GRUB_CFG}
sync /boot/grub
"""

UPDATE_INITRAMFS = f"set -e\n{LOCK}\nupdate-initramfs -u -k all"


@deploy("kernel")
def kernel() -> None:
    """Every step asks the host what is due, so an interrupted run is healed by the next one."""
    write_files(name="GRUB drop-in", changes=changes.drop_in, check="sh -n")
    write_files(name="our keys in other GRUB files", changes=changes.grub_files, check="sh -n")
    write_files(name="our keys in modprobe.d", changes=changes.module_options)
    update_initramfs(name="initramfs")
    build_grub_cfg(name="grub.cfg")


@operation()
@asks_host
def update_initramfs(host_is: Known) -> Commands:
    """Build the initramfs of every kernel again when it holds an older modprobe.d."""
    if changes.initramfs(host_is.derived, host_is.facts):
        yield root_script(UPDATE_INITRAMFS)
    else:
        host.noop("no initramfs is stale")


@operation()
@asks_host
def build_grub_cfg(host_is: Known) -> Commands:
    """Build grub.cfg beside the real one, check it, and only then put it in place."""
    derived = host_is.derived
    if not changes.grub_cfg_reasons(derived, host_is.facts):
        host.noop("grub.cfg holds the wanted line")
        return
    yield root_script(BUILD)
    menu = grub_cfg.parse(host.get_fact(RootOutput, script=files.command(NEW)))
    wrong = grub_cfg.lacking(menu, derived.kernel_parameters, derived.removed_keys)
    if wrong:
        yield fails(f"{NEW} was not activated: {wrong[0]}; look for a drop-in behind ours")
    yield root_script(ACTIVATE)
