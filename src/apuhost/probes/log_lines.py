"""Lines of a service's log, however it was captured: whole again, and without their prefixes.

journald writes `TIME HOST NAME[PID]: `, Compose `NAME  | `, `docker logs -t` a time, Docker's own
file a JSON object for each line. A terminal
breaks a line at its width, in the middle of a word; a mail program breaks it at a blank. Only
what slog's own rules show to be broken is put together again.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from apuhost.probes.plain_text import plain
from apuhost.probes.slog import is_slog, quote_is_open

_PREFIX = re.compile(
    r"(?:[^\n]{0,40}?[0-9]:[0-9]{2}:[0-9]{2}\S* (?:\S+ ){1,2}(?P<process>[^\s\[\]:]+\[[0-9]+\]): ?"
    r"|(?:\x20*[\w.-]+ *\| )?(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9:]{5,6}) )?)"
)
_BEGINNING = re.compile(
    r"\s*(?:time=|\[GIN\]|[0-9]{4}/[0-9]{2}/|[a-z][\w ]*: |- \w+ *: |slot |srv )"
)
_JSON_FILE = '{"log":"'
_OWN_KEY = re.compile(r"\s*((?:level|msg)=)")
_ATTRIBUTE = re.compile(r'(?:\S*\s)?\s*(?:"[^"=]+"|[A-Za-z_][\w.]*)=(?:\S|$)|=\S')
_TERMINAL = 80  # columns: a mail program breaks earlier, a terminal not before
_MOST_PIECES = 40
_MOST_CHARACTERS = 64 * 1024


@dataclass(frozen=True)
class LogLine:
    """One line; `process` is journald's `name[pid]`, None without it."""

    process: str | None
    text: str


@dataclass(frozen=True)
class _Held:
    """A line that may go on: the pieces that it was put together from, and the last one."""

    line: LogLine
    last: str
    prefixed: bool
    pieces: int = 1
    width: int = 0


def log_lines(lines: Iterable[str]) -> Iterator[LogLine]:
    """Yield the lines of a log as the service wrote them; it holds one line at a time."""
    held: _Held | None = None
    for line in lines:
        physical = plain(_logged(line.rstrip("\r\n")))[:_MOST_CHARACTERS]
        prefix = _PREFIX.match(physical)
        end = prefix.end() if prefix else 0
        if held and end == 0 and _goes_on(held, physical):
            held = _joined(held, physical)
            continue
        if held:
            yield held.line
        process = prefix["process"] if prefix else None
        held = _Held(LogLine(process, physical[end:]), physical, prefixed=end > 0)
    if held:
        yield held.line


def phrase(text: str) -> re.Pattern[str]:
    """Return a pattern of words that finds them in a broken line, which has lost or got blanks."""
    return re.compile(text.replace(" ", r"\s*"))


def _logged(line: str) -> str:
    """What Docker's json-file driver wrote a line for; any other line as it is."""
    if not line.startswith(_JSON_FILE):
        return line
    try:
        return str(json.loads(line)["log"]).rstrip("\r\n")
    except (ValueError, RecursionError):
        return line


def _goes_on(held: _Held, piece: str) -> bool:
    """Whether a line without a prefix is the rest of the one before it."""
    if held.pieces >= _MOST_PIECES or not piece.strip() or not is_slog(held.line.text):
        return False
    own_key = _OWN_KEY.match(piece)
    if _BEGINNING.match(piece) or (own_key and own_key[1] in held.line.text):
        return False
    if quote_is_open(held.line.text) or _ATTRIBUTE.match(piece):
        return True
    if held.pieces > 1 and len(held.last) == held.width:
        return True  # its forerunner filled the width, as the one before did
    return held.prefixed and len(held.last) >= _TERMINAL and re.fullmatch(r"\S+", piece) is not None


def _joined(held: _Held, piece: str) -> _Held:
    """Put a piece behind its forerunner, without a blank where a terminal broke the line."""
    full = len(held.last) >= _TERMINAL and " " in held.last.strip()
    broken_word = (full or len(held.last) == held.width) and not piece.startswith("-")
    blank = "" if broken_word or piece.startswith((" ", "=")) else " "
    return replace(
        held,
        line=replace(held.line, text=f"{held.line.text}{blank}{piece}"),
        last=piece,
        pieces=held.pieces + 1,
        width=len(held.last) if broken_word else held.width,
    )
