"""A program in the background: found by its pid file, signalled only when it is really ours.

A pid file outlives a killed program, and its number may belong to somebody else by now. So the
process is held by a descriptor (pidfd), its command line is read, and only then is it signalled
through the same descriptor: the number cannot change hands in between.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apuhost.rehearsal.process import RehearsalError, search_path

_APPEAR_SECONDS = 2.0
_END_SECONDS = 20.0


@dataclass(frozen=True)
class Daemon:
    """Where one program's number stands, and how it is known.

    Attributes:
        pid_file: holds its number.
        is_ours: whether a process with this command line is it.
    """

    pid_file: Path
    is_ours: Callable[[Sequence[str]], bool]


def start(daemon: Daemon, command: Sequence[str], log: Path) -> None:
    """Start it, its output appended to `log`; it outlives this process.

    Raises:
        RehearsalError: the program could not be started.
    """
    with log.open("ab") as stream:
        try:
            started = subprocess.Popen(
                command, cwd=log.parent, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
                env=os.environ | {"PATH": search_path()},
            )  # fmt: skip
        except OSError as error:
            raise RehearsalError(f"{command[0]}: {error.strerror}") from error
    daemon.pid_file.write_text(f"{started.pid}\n", encoding="ascii")
    # The kernel lets go of the caller a moment before the new command line can be read.
    until = time.monotonic() + _APPEAR_SECONDS
    while pid(daemon) is None and started.poll() is None and time.monotonic() < until:
        time.sleep(0.01)


def pid(daemon: Daemon) -> int | None:
    """The number of its process, None when it does not run."""
    with _held(daemon) as found:
        return found[0] if found else None


def wait_for_end(daemon: Daemon, seconds: float) -> bool:
    """Whether it has ended within that time."""
    with _held(daemon) as found:
        return found is None or _ended(found[1], seconds)


def end(daemon: Daemon, number: signal.Signals = signal.SIGTERM) -> None:
    """Send the signal, if it runs, and wait for its end.

    Raises:
        RehearsalError: it does not end.
    """
    with _held(daemon) as found:
        if found is None:
            return
        signal.pidfd_send_signal(found[1], number)
        if not _ended(found[1], _END_SECONDS):
            raise RehearsalError(f"process {found[0]} does not end: end it by hand")


def _ended(descriptor: int, seconds: float) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)  # readable once the process has ended
    return bool(poller.poll(seconds * 1000))


@contextmanager
def _held(daemon: Daemon) -> Iterator[tuple[int, int] | None]:
    """Number and descriptor of its process."""
    number = _recorded(daemon.pid_file)
    try:
        descriptor = os.pidfd_open(number) if number else None
    except OSError:  # no such process
        descriptor = None
    if number is None or descriptor is None:
        yield None
        return
    try:
        yield (number, descriptor) if daemon.is_ours(_arguments(number)) else None
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
