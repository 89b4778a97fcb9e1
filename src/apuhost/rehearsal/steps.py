"""Numbered steps with their times; in between a line that moves, or elsewhere one now and then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from apuhost.rehearsal import process
from apuhost.rehearsal.process import Heartbeat

_TITLE_WIDTH = 34
_NOTE_WIDTH = 48
_SAID_EVERY_S = 30
_CLEAR_LINE = "\r\x1b[K"


class Steps:
    """Reports ` 3/9  boot   ok   31 s`, line by line, and the total at the end.

    On failure the step's line says so, then come the last lines of the log that the error names,
    where the rest is, and how to look inside and throw the machine away. The error itself goes on
    to the caller, who says what went wrong.
    """

    def __init__(self, total: int, stream: TextIO) -> None:
        self._total = total
        self._stream = stream
        self._number = 0
        self._began = self._said = time.monotonic()

    @contextmanager
    def step(self, title: str) -> Iterator[Heartbeat]:
        """One step; gives a heartbeat that takes what is being waited for."""
        self._number += 1
        began = time.monotonic()
        label = f"{self._number:2}/{self._total}  {title:<{_TITLE_WIDTH}}"
        self._live(label, "", 0)
        try:
            yield lambda note: self._live(label, note, time.monotonic() - began)
        except BaseException as error:
            self._line(f"{label}{_outcome(error):<10}{duration(time.monotonic() - began)}")
            for line in failure_lines(error):
                self._line(line)
            raise
        self._line(f"{label}{'ok':<10}{duration(time.monotonic() - began)}")

    def done(self) -> None:
        """Say how long all of it took."""
        total = f"{'in all':<{_TITLE_WIDTH}}"
        self._line(f"{'':7}{total}{'':10}{duration(time.monotonic() - self._began)}")

    def _line(self, text: str) -> None:
        self._said = time.monotonic()
        self._stream.write(f"{_CLEAR_LINE if self._stream.isatty() else ''}{text.rstrip()}\n")
        self._stream.flush()

    def _live(self, label: str, note: str, seconds: float) -> None:
        note = process.printable(note)[:_NOTE_WIDTH]
        text = f"{label}{duration(seconds).strip()}  {note}"
        if self._stream.isatty():
            self._stream.write(f"{_CLEAR_LINE}{text}")
            self._stream.flush()
        elif note and time.monotonic() - self._said >= _SAID_EVERY_S:
            self._line(text)


def failure_lines(error: BaseException) -> list[str]:
    """What helps with a failed step: the log's last lines, the rest's place, the next commands."""
    log = error.log if isinstance(error, process.RehearsalError) else None
    shown = [f"    | {line}" for line in process.tail(log)] if log else []
    rest = [f"       the rest        {log}"] if log else []
    return [
        *shown,
        *rest,
        "       look inside     apuhost rehearse ssh",
        "       throw it away   apuhost rehearse down",
    ]


def duration(seconds: float) -> str:
    """`  31 s`, or `1 min 12 s` from a minute on."""
    whole = round(seconds)
    return f"{whole:4} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"  # noqa: PLR2004


def _outcome(error: BaseException) -> str:
    return "FAILED" if isinstance(error, Exception) else "broken off"
