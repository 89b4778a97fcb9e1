"""Go's slog text: `time=... level=INFO source=sched.go:1 msg="two words" key=value`.

A key or value is quoted, with Go's escapes, where it is empty or holds a blank, `=`, a quote or
what cannot be printed (log/slog's TextHandler). The names in `source` change with each release.
"""

import re
from collections.abc import Mapping

_QUOTED = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_PAIR = re.compile(rf'(?<!\S)({_QUOTED}|[^\s="]++)=({_QUOTED}|[^\s"]*)(?!\S)')
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_MARK = re.compile(r"(?:^|\s)(?:time|level|msg)=")


def is_slog(line: str) -> bool:
    """Whether the line holds slog's attributes, behind whatever prefix."""
    return _MARK.search(line) is not None


def attributes(line: str) -> Mapping[str, str]:
    """Return the attributes of a line, unquoted; of equal keys the first.

    A value whose closing quote is cut off is left out: what it was is not known.
    """
    found: dict[str, str] = {}
    for key, value in _PAIR.findall(line):
        found.setdefault(_unquoted(key), _unquoted(value))
    return found


def quote_is_open(line: str) -> bool:
    """Whether the line ends inside of a quoted value."""
    return len(re.findall(r'(?<!\\)(?:\\\\)*"', line)) % 2 == 1


def _unquoted(word: str) -> str:
    return _ESCAPE.sub(_character, word[1:-1]) if word.startswith('"') else word


def _character(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        valid = number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF  # noqa: PLR2004
        return chr(number) if valid else "\N{REPLACEMENT CHARACTER}"
    return _LETTERS.get(code, code)
