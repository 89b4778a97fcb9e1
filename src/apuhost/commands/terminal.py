"""Colour for a terminal: it only repeats what a line's first word says."""

import os
import re
import sys
from collections.abc import Iterable

COLOURS = {"FAIL": 31, "not reached": 31, "warn": 33, "?": 33, "waived": 36, "ok": 32}
_WORD = re.compile(rf"({'|'.join(map(re.escape, COLOURS))})(?= )")


def painted(lines: Iterable[str]) -> list[str]:
    """The lines, their first words in colour where stdout is a terminal that wants it."""
    if not _wanted():
        return list(lines)
    return [_WORD.sub(_in_colour, line, count=1) if _WORD.match(line) else line for line in lines]


def _wanted() -> bool:
    # The variable is a convention of many programs (https://no-color.org).
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout is not None and sys.stdout.isatty() and not plain


def _in_colour(found: re.Match[str]) -> str:
    return f"\x1b[{COLOURS[found[1]]}m{found[1]}\x1b[0m"
