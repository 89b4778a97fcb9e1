"""Running other programs: output to a log, a heartbeat meanwhile, the log's tail on failure."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from apuhost.errors import ApuhostError

Heartbeat = Callable[[str], None]  # told every half second what is being waited for
TAIL_LINES = 20
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?=!]*[A-Za-z]|c|[()][A-Z0-9])")

# A killed apuhost takes what it started along: nothing is left behind that nobody waits for.
ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")


class RehearsalError(ApuhostError):
    """Something of the rehearsal failed.

    Attributes:
        log: where the rest is written (a console or a program's output), if anywhere.
    """

    def __init__(self, message: str, log: Path | None = None) -> None:
        super().__init__(message)
        self.log = log


def search_path() -> str:
    """$PATH and the folders of system programs, which an ordinary user's may lack."""
    return f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"


def silent(_: str) -> None:
    """A heartbeat that nobody hears."""


def tail(log: Path, lines: int = TAIL_LINES) -> list[str]:
    """The last lines of a log, without control characters: a serial console is full of them."""
    try:
        with log.open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - 64 * 1024))
            text = stream.read().decode(errors="replace")
    except OSError:
        return []
    return [line for line in printable(text).splitlines() if line.strip()][-lines:]


def printable(text: str) -> str:
    """Text with the escape sequences of terminals, firmware and GRUB taken out."""
    text = _ESCAPES.sub("", text)
    return "".join(char for char in text if char == "\n" or char.isprintable())


def run(
    command: Sequence[str], *, log: Path, seconds: float = 1800, heartbeat: Heartbeat = silent
) -> None:
    """Run a program to its end, its output appended to `log`.

    Raises:
        RehearsalError: it could not be started, failed, or took longer than `seconds`.
    """
    name = command[len(ENDS_WITH_US)] if command[0] == ENDS_WITH_US[0] else command[0]
    with log.open("ab") as stream:
        stream.write(f"$ {' '.join(command)}\n".encode())
        stream.flush()
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
                env=os.environ | {"PATH": search_path(), "LC_ALL": "C.UTF-8"},
            )  # fmt: skip
        except OSError as error:
            raise RehearsalError(f"{name}: {error.strerror}", log) from error
        status = _wait(process, seconds, lambda: heartbeat(_last_word(log)))
    if status is None:
        raise RehearsalError(f"{name} took longer than {seconds:.0f} s: see {log}", log)
    if status:
        raise RehearsalError(f"{name} ended with status {status}: see {log}", log)


def _wait(process: subprocess.Popen[bytes], seconds: float, beat: Callable[[], None]) -> int | None:
    """The exit status, or None when the time was over and the program was killed."""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            try:
                return process.wait(0.5)
            except subprocess.TimeoutExpired:
                beat()
        return None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _last_word(log: Path) -> str:
    lines = tail(log, 1)
    return lines[0] if lines else ""
