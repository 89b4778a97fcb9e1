"""Snapshots of the running rehearsal machine: its whole state, memory included, under names."""

import time

from apuhost.rehearsal import monitor, qemu, ssh
from apuhost.rehearsal.process import RehearsalError
from apuhost.rehearsal.state import Machine


def keep(machine: Machine, name: str) -> None:
    """Keep the running machine's whole state, memory included, under a name.

    Raises:
        RehearsalError: it does not run, or QEMU refused.
        ValueError: the name is not a plain word.
    """
    _monitor_line(machine, qemu.snapshot_command("savevm", name))


def restore(machine: Machine, name: str) -> None:
    """Go back to a snapshot and set the guest's clock; open ssh connections to it are dead then.

    Raises:
        RehearsalError: it does not run, there is no such snapshot, or it cannot be logged in.
        ValueError: the name is not a plain word.
    """
    command = qemu.snapshot_command("loadvm", name)
    if name not in names(machine):  # QEMU would refuse too, but leave the guest standing still
        raise RehearsalError(f"{machine.directory}: no snapshot {name}")
    _monitor_line(machine, command)
    clock = ssh.run(machine, ["sudo", "date", "--set", f"@{time.time():.0f}"])
    if clock.returncode:
        raise RehearsalError(f"the guest's clock could not be set: {clock.stderr.strip()}")


def names(machine: Machine) -> list[str]:
    """Names of the running machine's snapshots."""
    return qemu.snapshot_names(monitor.type_line(machine.monitor, "info snapshots"))


def _monitor_line(machine: Machine, line: str) -> None:
    answer = monitor.type_line(machine.monitor, line)
    if answer:
        raise RehearsalError(f"QEMU: {line}: {answer}")
