"""A guest's reboot as a power cycle: QEMU ends with it (-no-reboot) and is started again.

Under emulation a warm reset of OVMF with two processors took minutes or never ended (QEMU 7.2: the
firmware waits for its second processor). A cold start of the same disk is the same boot for the
guest: firmware, its own GRUB, a new boot id.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from apuhost.rehearsal.state import Machine

# The kernel's last word before a reset; after a power-off it is another one (kernel/reboot.c).
LAST_WORD = "reboot: Restarting system"

# $1 pid file, $2 console, $3 last word; then QEMU's command line. Ends with the machine.
_WATCH = """
pid_file=$1 console=$2 word=$3; shift 3
while pid=$(cat "$pid_file") && tail -s 0.2 --pid="$pid" -f /dev/null; do
  tail -c 400 "$console" | grep -aq "$word" || exit 0
  "$@" || exit
done
"""


def watch_command(machine: Machine, start: Sequence[str]) -> list[str]:
    """The process that starts QEMU again after each reboot of the guest."""
    files = [str(machine.pid_file), str(machine.console)]
    return ["sh", "-c", _WATCH, "apuhost-rehearsal-reset", *files, LAST_WORD, *start]


def watch(machine: Machine, start: Sequence[str]) -> None:
    """Start that process; it outlives this one and ends when the machine does."""
    subprocess.Popen(
        watch_command(machine, start),
        cwd=machine.directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
