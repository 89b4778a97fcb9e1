"""What is printed: no character of it is obeyed by the terminal, and its reader may leave."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

# What apuhost itself says to a terminal: a colour, and that a line is written anew.
_OURS = re.compile(r"(\x1b\[[0-9]{1,2}m|\r\x1b\[K)")


class Shown:
    """A standard stream on which control characters are shown, by whatever they were printed.

    When nobody reads any more, what follows is for nobody: the work goes on, and ends as it would.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text as it may be shown."""
        self._patiently(lambda: self._stream.write(_shown(text)))
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        self._patiently(self._stream.flush)

    def _patiently(self, work: Callable[[], object]) -> None:
        try:
            work()
        except BrokenPipeError:
            forget(self._stream)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (whatever else a stream has)
        return getattr(self._stream, name)


@contextmanager
def shown() -> Iterator[None]:
    """Standard output and error, each where there is one, are such streams meanwhile."""
    with redirect_stdout(_of(sys.stdout)), redirect_stderr(_of(sys.stderr)):
        yield


def forget(stream: TextIO) -> None:
    """Let what a stream still has go nowhere: the interpreter, at its end, tries to write it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _of(stream: TextIO | None) -> TextIO | None:
    return cast(TextIO, Shown(stream)) if stream else None


def _shown(text: str) -> str:
    if text.replace("\n", "").isprintable():
        return text
    parts = _OURS.split(text)
    return "".join(each if at % 2 else _lines(each) for at, each in enumerate(parts))


def _lines(text: str) -> str:
    from apuhost.report import visible  # `apuhost --help` must not wait for it

    return "\n".join(map(visible, text.split("\n")))
