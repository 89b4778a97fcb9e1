"""What a process says: all its pipes read at once, each to a limit, before a time."""

import os
import selectors
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from apuhost.errors import ApuhostError

BLOCK_BYTES = 64 * 1024
LOOK_EVERY_S = 0.5
SHOWN_LENGTH = 60


class CutOff(ApuhostError):
    """A process says too much, or takes too long; nothing more of it was read."""


@dataclass(frozen=True)
class Pipe:
    """Where something comes from, how much of it there may be, what to call it."""

    end: IO[bytes]
    most: int
    name: str


def read(pipes: Sequence[Pipe], seconds: float, ended: Callable[[], bool]) -> list[bytes]:
    """What comes out of each pipe, in their order.

    It is all there when the pipes are closed, or when the process has ended and nothing comes any
    more: a child that it leaves behind, such as ssh's shared connection, may keep them open.

    Raises:
        CutOff: one brings more than its limit, or the time is over.
    """
    until = time.monotonic() + seconds
    said = {pipe: bytearray() for pipe in pipes}
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe.end, selectors.EVENT_READ, pipe)
        while selector.get_map():
            over = ended()  # asked first: what it said last is there by then
            ready = selector.select(LOOK_EVERY_S)
            if not ready and over:
                break
            if time.monotonic() > until:
                raise CutOff(f"no answer within {seconds} s")
            for key, _ in ready:
                if not _grown(said[key.data], key.data):
                    selector.unregister(key.fileobj)
    return [bytes(said[pipe]) for pipe in pipes]


def _grown(said: bytearray, pipe: Pipe) -> bool:
    """Add what is there; whether there was anything, else the pipe is closed."""
    block = os.read(pipe.end.fileno(), BLOCK_BYTES)
    said += block
    if len(said) > pipe.most:
        begin = said[:SHOWN_LENGTH].decode(errors="replace").strip().partition("\n")[0]
        raise CutOff(
            f"sends more than {pipe.most >> 20} MiB of {pipe.name}, which begin with {begin!r}: "
            "log in by hand and look"
        )
    return bool(block)
