"""Waiting until a host that reboots is back, over pyinfra's connection."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress

from paramiko import SSHException
from pyinfra import logger
from pyinfra.api import StringCommand
from pyinfra.api.host import Host
from pyinfra.api.state import State

from apuhost.changes.scripts import BOOT_ID
from apuhost.steps import NextBoot
from apuhost.steps.reboot import STILL_UP, boot_id_in, did_not_come_back

INTERVAL_S = 2
ANSWER_S = 10
SAID_EVERY_S = 15


def until_back(next_boot: NextBoot) -> Callable[[State, Host], bool]:
    """Reconnect until the boot id is another one, for so many seconds at most."""

    def wait(state: State, host: Host) -> bool:  # noqa: ARG001  (pyinfra passes both by name)
        logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # a traceback per refused try
        started = time.monotonic()
        said, seen = 0.0, None
        while (waited := time.monotonic() - started) < next_boot.seconds:
            time.sleep(INTERVAL_S)
            seen = _boot_id(host)
            if seen not in (None, next_boot.boot_id):
                logger.info("%sback after %d s", host.print_prefix, time.monotonic() - started)
                return True
            if waited - said > SAID_EVERY_S:
                said = waited
                logger.info("%srebooting, %d s", host.print_prefix, waited)
        old = seen == next_boot.boot_id
        sentence = STILL_UP if old else did_not_come_back(next_boot.seconds)
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
            return boot_id_in(output.stdout) if done else None
    return None
