"""The one reboot step of a deploy: asked for by state, proved by a new boot id."""

import re

from apuhost.changes import reboot as changes
from apuhost.changes.scripts import REBOOT
from apuhost.probes.boot import REBOOTED_FOR
from apuhost.steps import NextBoot, Step, Target, Work, script

STILL_UP = "is still in its old boot: `systemctl reboot` did not end it; look at its journal"
"""What is said of a host that answers, and from no other boot."""

_BOOT_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

BY_HAND = "reboot now, then: apuhost verify"

# sshd answers before the boot is over, and what comes next asks Docker: its start is waited for.
# What this boot was made for is remembered until the next one removes it.
AFTER_BOOT = f"""timeout 300 sh -c '
while systemctl list-jobs --no-legend | grep -q " docker\\.service "; do sleep 1; done' || :
mkdir -p {REBOOTED_FOR.rpartition("/")[0]} && printf '%s\\n' "$@" >{REBOOTED_FOR}"""


def reboot(target: Target) -> Work:
    """Reboot when the host's state asks for it, and wait for another boot id."""
    now = target.known()
    why = changes.reasons(now.derived, now.facts)
    if not why:
        target.nothing_due("this boot has everything")
    elif target.local:
        target.nothing_due(BY_HAND)
        target.warn(BY_HAND)
    else:
        boot_id = now.facts.boot.boot_id
        yield script(REBOOT, boot_id, *now.facts.grub_cfg.kernel_files)
        yield NextBoot(boot_id, now.settings.host.host_reboot_timeout_s)
        yield script(AFTER_BOOT, *why)


REBOOT_STEP = Step("reboot", reboot)


def boot_id_in(text: str) -> str | None:
    """The boot id that a host printed; what a login's own start-up file prints comes before it."""
    last = text.strip().rpartition("\n")[2].strip()
    return last if _BOOT_ID.fullmatch(last) else None


def did_not_come_back(seconds: int) -> str:
    """What is said of a host that does not answer any more."""
    return (
        f"did not come back within {seconds} s: look at its console; in GRUB's menu "
        "press c and type `configfile $prefix/grub.cfg.previous` to boot as before, and repeat"
    )
