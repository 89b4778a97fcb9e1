"""What scripts on a host have in common: one run at a time, and the one way to reboot."""

from apuhost.changes.kernel import GRUB_CFG

BOOT_ID = "/proc/sys/kernel/random/boot_id"

# Two runs at once on one host: each command of theirs waits for the other's.
# /run, not /run/lock: only root may write there. PATH: a root login by `su` has no sbin in it.
LOCK = """export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec 9>>/run/apuhost.lock
flock -w 300 9 || { echo "another apuhost run is at work on this host" >&2; exit 1; }"""

# Fails while apt or dpkg is at work. The lock is an fcntl lock, which only /proc/locks tells of.
DPKG_IS_IDLE = """inode=$(stat -c %i /var/lib/dpkg/lock-frontend 2>/dev/null || echo none)
if grep -q "POSIX .*:$inode 0 EOF" /proc/locks; then
  echo "another apt or dpkg is at work: run again when it is done" >&2; exit 1
fi"""

# $1 boot id: another run may have rebooted the host since it was read; then the kernel files that
# the boot menu boots. The menu is checked once more, and dpkg is not cut off in the middle.
REBOOT = f"""
{LOCK}
[ "$(cat {BOOT_ID})" = "$1" ] || exit 0
shift
{DPKG_IS_IDLE}
grub-script-check {GRUB_CFG} || {{ echo "{GRUB_CFG} is broken: not rebooting" >&2; exit 1; }}
for kernel in "$@"; do
  [ -s "/boot/$kernel" ] || {{ echo "/boot/$kernel is gone: not rebooting" >&2; exit 1; }}
done
sync
nohup sh -c 'sleep 1; systemctl reboot' >/dev/null 2>&1 </dev/null 9>&- &
"""
