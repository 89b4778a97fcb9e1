"""The one reboot step of a deploy: asked for by state, proved by a new boot id."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress

from paramiko import SSHException
from pyinfra import host, logger
from pyinfra.api import FunctionCommand, StringCommand, operation
from pyinfra.api.host import Host
from pyinfra.api.state import State

from apuhost.changes import reboot as changes
from apuhost.changes.scripts import BOOT_ID, REBOOT
from apuhost.probes.boot import REBOOTED_FOR
from deploy.facts import Known
from deploy.operations import Commands, asks_host, root_script

INTERVAL_S = 2
ANSWER_S = 10
SAID_EVERY_S = 15

STILL_UP = "is still in its old boot: `systemctl reboot` did not end it; look at its journal"

# sshd answers before the boot is over, and what comes next asks Docker: its start is waited for.
# What this boot was made for is remembered until the next one removes it.
AFTER_BOOT = f"""timeout 300 sh -c '
while systemctl list-jobs --no-legend | grep -q " docker\\.service "; do sleep 1; done' || :
mkdir -p {REBOOTED_FOR.rpartition("/")[0]} && printf '%s\\n' "$@" >{REBOOTED_FOR}"""


@operation(is_idempotent=False)
@asks_host()
def reboot(host_is: Known) -> Commands:
    """Reboot when the host's state asks for it, and wait for another boot id."""
    why = changes.reasons(host_is.derived, host_is.facts)
    if not why:
        host.noop("this boot has everything")
    elif host.name == "@local":
        host.noop("reboot now, then: apuhost verify")
        logger.warning("%sreboot now, then: apuhost verify", host.print_prefix)
    else:
        boot_id = host_is.facts.boot.boot_id
        yield root_script(REBOOT, boot_id, *host_is.facts.grub_cfg.kernel_files)
        seconds = host_is.settings.host.host_reboot_timeout_s
        yield FunctionCommand(_until_back(boot_id, seconds), (), {})
        yield root_script(AFTER_BOOT, *why)


def _until_back(boot_id: str, seconds: int) -> Callable[[State, Host], bool]:
    """Reconnect until the boot id is another one, for so many seconds at most."""

    def wait(state: State, host: Host) -> bool:  # noqa: ARG001  (pyinfra passes both by name)
        logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # a traceback per refused try
        started = time.monotonic()
        said, seen = 0.0, None
        while (waited := time.monotonic() - started) < seconds:
            time.sleep(INTERVAL_S)
            seen = _boot_id(host)
            if seen not in (None, boot_id):
                logger.info("%sback after %d s", host.print_prefix, time.monotonic() - started)
                return True
            if waited - said > SAID_EVERY_S:
                said = waited
                logger.info("%srebooting, %d s", host.print_prefix, waited)
        old = seen == boot_id
        sentence = STILL_UP if old else _did_not_come_back(seconds)
        logger.error("%s%s", host.print_prefix, sentence)
        return False

    return wait


def _boot_id(host: Host) -> str | None:
    """The boot id over a new connection; None while the host does not answer."""
    # Not a fact: a fact that fails would take the host out of the run.
    with suppress(OSError, EOFError, SSHException, TimeoutError):
        host.disconnect()
        host.connect(show_errors=False)
        if host.connected:
            done, output = host.run_shell_command(StringCommand("cat", BOOT_ID), _timeout=ANSWER_S)
            return output.stdout.strip() if done else None
    return None


def _did_not_come_back(seconds: int) -> str:
    return (
        f"did not come back within {seconds} s: look at its console; in GRUB's menu "
        "press c and type `configfile $prefix/grub.cfg.previous` to boot as before, and repeat"
    )
