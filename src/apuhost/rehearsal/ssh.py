"""Reaching the guest with the system's ssh."""

from __future__ import annotations

import shlex
import socket
import subprocess
from collections.abc import Sequence

from apuhost.rehearsal.state import HOST_NAME, Machine

_BANNER_SECONDS = 2.0
_LOGIN_SECONDS = 30.0


def login_command(machine: Machine, words: Sequence[str] = ()) -> list[str]:
    """`ssh` into the guest; with words, to run that command, each word arriving as it is."""
    command = [shlex.join(words)] if words else []
    return ["ssh", "-F", str(machine.ssh_config), HOST_NAME, *command]


def batch_command(machine: Machine, words: Sequence[str]) -> list[str]:
    """The same for a program: never asks, gives up after some seconds."""
    ssh, *rest = login_command(machine, words)
    return [ssh, "-o", "BatchMode=yes", "-o", f"ConnectTimeout={_LOGIN_SECONDS:.0f}", *rest]


def run(machine: Machine, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in the guest; the caller judges the exit status (255: ssh itself failed)."""
    return subprocess.run(
        batch_command(machine, words), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip


def answers(machine: Machine) -> bool:
    """Whether an sshd greets at the machine's port.

    QEMU accepts the connection long before the guest does, and ssh would then sit out its whole
    time limit: so the banner is asked for with a short one.
    """
    try:
        with socket.create_connection(("127.0.0.1", machine.port), _BANNER_SECONDS) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
