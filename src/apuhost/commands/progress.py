"""How far a long work is, on a terminal: bytes, their rate, and the time that is left."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from apuhost.bundle import sizes

EVERY_S = 0.5


class Progress:
    """Counts bytes, from any thread, and rewrites one line of stderr now and then."""

    def __init__(self, word: str, total: int) -> None:
        self._word, self._total = word, total
        self._done, self._began, self._last = 0, time.monotonic(), 0.0
        self._turn = threading.Lock()
        self._shown = sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, count: int) -> None:
        """Count some bytes more."""
        with self._turn:
            self._done += count
            now = time.monotonic()
            if self._shown and now - self._last >= EVERY_S:
                self._last = now
                self._line(how_far(self._word, self._done, self._total, now - self._began))

    def clear(self) -> None:
        """Take the line away: what follows stands in its place."""
        if self._shown:
            self._line("")

    def _line(self, text: str) -> None:
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


@contextmanager
def progress(word: str, total: int) -> Iterator[Progress]:
    """The line while the work goes on, and nothing of it afterwards, however that ends."""
    told = Progress(word, total)
    try:
        yield told
    finally:
        told.clear()


def how_far(word: str, done: int, total: int, seconds: float) -> str:
    """`fetched 1.2 GB of 4.0 GB, 25.0 MB/s, 112 s left`."""
    rate = done / seconds if seconds > 0 else 0
    left = f", {max(total - done, 0) / rate:.0f} s left" if rate > 0 else ""
    return f"{word} {sizes.shown(done)} of {sizes.shown(total)}, {sizes.shown(int(rate))}/s{left}"
