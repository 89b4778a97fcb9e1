"""This boot: its id, when it began, what was installed since, and who holds dpkg's lock."""

import re
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.pairs import pairs, whole_number

REBOOTED_FOR = "/run/apuhost/rebooted-for"
"""Written after a reboot by apuhost; /run is empty again after the next one."""

# The lock is an fcntl lock: only /proc/locks tells its holder without taking it.
COMMAND = f"""
printf 'boot_id=%s\\n' "$(cat /proc/sys/kernel/random/boot_id)"
btime=$(sed -n 's/^btime //p' /proc/stat)
printf 'booted_at=%s\\n' "$btime"
printf 'now=%s\\n' "$(date +%s)"
printf 'uptime=%s\\n' "$(cut -d. -f1 /proc/uptime)"
for folder in /lib/firmware/amdgpu /lib/firmware/updates/amdgpu; do
  [ -d "$folder" ] || continue
  find "$folder/" -newerct "@$btime" ! -newerct now -printf 'firmware=%p\\n' -quit
done
inode=$(stat -c %i /var/lib/dpkg/lock-frontend 2>/dev/null)
if [ -n "$inode" ]; then
  holder=$(sed -n "s/^[0-9]*: POSIX *[A-Z]* *WRITE \\([0-9]*\\) [0-9a-f:]*:$inode .*/\\1/p" \\
    /proc/locks | head -n 1)
  [ -n "$holder" ] && printf 'dpkg_lock=%s %s\\n' "$holder" "$(cat "/proc/$holder/comm")"
fi
if [ -r {REBOOTED_FOR} ]; then sed 's/^/rebooted_for=/' {REBOOTED_FOR}; fi
"""


@dataclass(frozen=True)
class Boot:
    """Seconds since the epoch; a file of newer firmware; the lock's holder as "PID NAME"."""

    boot_id: str
    booted_at: int
    now: int
    uptime_s: int | None
    newer_firmware: str | None
    dpkg_lock: str | None
    rebooted_for: tuple[str, ...]


def parse(text: str) -> Boot:
    """Read the lines that COMMAND prints.

    Raises:
        ParseError: the boot id or the boot time is not there.
    """
    found = list(pairs(text))
    values = dict(found)
    boot_id, booted_at = values.get("boot_id", ""), whole_number(values.get("booted_at"))
    now = whole_number(values.get("now"))
    if not re.fullmatch(r"[0-9a-f-]{36}", boot_id) or booted_at is None or now is None:
        raise ParseError("neither boot id nor boot time")
    return Boot(
        boot_id=boot_id,
        booted_at=booted_at,
        now=now,
        uptime_s=whole_number(values.get("uptime")),
        newer_firmware=values.get("firmware") or None,
        dpkg_lock=values.get("dpkg_lock") or None,
        rebooted_for=tuple(value for key, value in found if key == "rebooted_for" and value),
    )
