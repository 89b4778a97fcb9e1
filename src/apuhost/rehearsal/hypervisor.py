"""The machine's QEMU process: found by its pid file, signalled only when it is really ours.

A pid file outlives a killed QEMU, and its number may belong to somebody else by now. So the process
is held by a descriptor (pidfd), its command line is read, and only then is it signalled through the
same descriptor: the number cannot change hands in between.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apuhost.rehearsal import qemu
from apuhost.rehearsal.process import RehearsalError
from apuhost.rehearsal.state import Machine

_END_SECONDS = 20.0


def pid(machine: Machine) -> int | None:
    """The number of its QEMU process, None when it does not run."""
    with _held(machine) as found:
        return found[0] if found else None


def wait_for_end(machine: Machine, seconds: float) -> bool:
    """Whether it has ended within that time."""
    with _held(machine) as found:
        return found is None or _ended(found[1], seconds)


def end(machine: Machine) -> None:
    """Ask QEMU to end (SIGTERM): it writes out what it holds; the guest sees a power cut."""
    _signal(machine, signal.SIGTERM)


def kill(machine: Machine) -> None:
    """End it at once (SIGKILL), as a power cut does."""
    _signal(machine, signal.SIGKILL)


def _signal(machine: Machine, number: signal.Signals) -> None:
    with _held(machine) as found:
        if found is None:
            return
        signal.pidfd_send_signal(found[1], number)
        if not _ended(found[1], _END_SECONDS):
            raise RehearsalError(f"QEMU (process {found[0]}) does not end: end it by hand")


def _ended(descriptor: int, seconds: float) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)  # readable once the process has ended
    return bool(poller.poll(seconds * 1000))


@contextmanager
def _held(machine: Machine) -> Iterator[tuple[int, int] | None]:
    """Number and descriptor of the machine's QEMU process."""
    number = _recorded(machine.pid_file)
    try:
        descriptor = os.pidfd_open(number) if number else None
    except OSError:  # no such process
        descriptor = None
    if number is None or descriptor is None:
        yield None
        return
    try:
        yield (number, descriptor) if qemu.is_ours(_arguments(number), machine) else None
    finally:
        os.close(descriptor)


def _recorded(pid_file: Path) -> int | None:
    try:
        number = int(pid_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return number if number > 1 else None


def _arguments(number: int) -> list[str]:
    """A process's command line; empty for one that has ended and waits to be reaped."""
    try:
        raw = Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return []
    return os.fsdecode(raw).rstrip("\0").split("\0")
