"""A process that is told to end takes what it started along, as it does at Ctrl-C."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGTERM, signal.SIGHUP)
INTERRUPTED = 128 + signal.SIGINT
STATUSES = (INTERRUPTED, *(128 + number for number in ENDING))
"""What a shell tells of a command that a signal ended."""


@contextmanager
def unwinding() -> Iterator[None]:
    """Meanwhile they end the main thread by SystemExit; what is ignored (nohup) stays so."""
    before = {number: signal.getsignal(number) for number in ENDING}
    caught = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    for number in caught:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
