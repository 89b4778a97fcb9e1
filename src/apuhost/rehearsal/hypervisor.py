"""The machine's QEMU process."""

from __future__ import annotations

import signal

from apuhost.rehearsal import daemon, qemu
from apuhost.rehearsal.daemon import Daemon
from apuhost.rehearsal.state import Machine


def pid(machine: Machine) -> int | None:
    """The number of its process, None when it does not run."""
    return daemon.pid(_qemu(machine))


def wait_for_end(machine: Machine, seconds: float) -> bool:
    """Whether it has ended within that time."""
    return daemon.wait_for_end(_qemu(machine), seconds)


def end(machine: Machine) -> None:
    """Ask QEMU to end (SIGTERM): it writes out what it holds; the guest sees a power cut."""
    daemon.end(_qemu(machine))


def kill(machine: Machine) -> None:
    """End it at once (SIGKILL), as a power cut does."""
    daemon.end(_qemu(machine), signal.SIGKILL)


def _qemu(machine: Machine) -> Daemon:
    return Daemon(machine.pid_file, lambda arguments: qemu.is_ours(arguments, machine))
