"""What a terminal gets: its width, colour, which repeats a line's first word, and a question."""

import os
import re
import shutil
import sys
from collections.abc import Iterable

from apuhost.errors import ApuhostError
from apuhost.report import WIDTH

LEAST_WIDTH = 60
"""Of a narrower terminal the lines wrap: nothing could be read in what is left beside the names."""

COLOURS = {"FAIL": 31, "not reached": 31, "warn": 33, "?": 33, "waived": 36, "ok": 32}
_WORD = re.compile(rf"({'|'.join(map(re.escape, COLOURS))})(?= )")


def width() -> int:
    """Of a line, in columns: the terminal's where stdout is one, else always the same."""
    if not _is_terminal():
        return WIDTH
    return max(LEAST_WIDTH, shutil.get_terminal_size((WIDTH, 0)).columns)


class NobodyToAsk(ApuhostError):
    """A change needs a yes, and there is no terminal to ask for one."""


def agreed(question: str) -> bool:
    """Whether somebody says yes.

    Raises:
        NobodyToAsk: nobody is there.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise NobodyToAsk("asks before it changes anything: add -y where nobody can answer")
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:
        return False
    return answer.strip().lower() in {"y", "yes"}


def painted(lines: Iterable[str]) -> list[str]:
    """The lines, their first words in colour where stdout is a terminal that wants it."""
    if not _wanted():
        return list(lines)
    return [_WORD.sub(_in_colour, line, count=1) if _WORD.match(line) else line for line in lines]


def _wanted() -> bool:
    # The variable is a convention of many programs (https://no-color.org).
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return _is_terminal() and not plain


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _in_colour(found: re.Match[str]) -> str:
    return f"\x1b[{COLOURS[found[1]]}m{found[1]}\x1b[0m"
