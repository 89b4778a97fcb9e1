"""Lines of the kernel log, however it was captured: whole again, and without their prefixes.

dmesg writes `[SECONDS] `, with -T `[DATE] `, a kernel with caller ids `[T123] ` behind it;
journald writes `TIME HOST kernel: `, in the words of the locale; -x, /dev/kmsg and serial lines
have levels. A terminal breaks a line at its width, a mail program at a blank.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from apuhost.probes.plain_text import plain

_SECONDS = r"\[\s*\+?(?P<seconds>[0-9]{1,12}\.[0-9]{6})(?:\s*<\s*\+?[0-9.]{1,20}>)?\]"
_STAMPS = re.compile(
    r"(?:<[0-9]{1,3}>)?(?P<own>[0-9]{1,3},[0-9]{1,20},[0-9]{1,20},[^;\n]{1,30};"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8},[0-9]{6}[+-][0-9:]{4,6} )?"
    r"(?:[a-z]{1,9}\s*:[a-z]{1,9}\s*: )?"
    rf"(?:\s*(?:{_SECONDS}"
    r"|\[\s*[TC][0-9]{1,10}\]|(?P<date>\[[^\[\]\n]{0,40}?\b[0-9]{2}:[0-9]{2}[^\[\]\n]{0,30}\])))*\s*"
)
_OTHER_DATED = re.compile(r"\[(?!drm)")  # a web server's log: [DATE] [error]
_QUOTED = re.compile(r"[>\s]*")
_JOURNAL = "kernel: "
_SYSLOG = "kernel - - - "  # RFC 5424
_LONGEST_JOURNAL_PREFIX = 160
_TIME = re.compile(r"[0-9]:[0-9]{2}|[0-9]\.[0-9]{3}")
# A time and the name of another process; some people cut host and `kernel: ` out.
_OTHER_PROCESS = re.compile(
    r"[^\[\n]{0,40}?(?<![0-9a-f:])[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[+-][0-9:]+)? "
    r"(?!amdgpu[ :]|\[drm)(?:\S+ )?[^\s\[\]:]+(?:\[[0-9]+\])?: "
)
_CUT_STAMP = re.compile(r"[0-9.\s]{0,16}\] ")
_INSIDE = re.compile(r"(?=\[\s*[0-9]{1,12}\.[0-9]{6}\] )")
_KNOWN = re.compile(
    r"(?:amdgpu|kfd|pci|vfio-pci) [0-9a-f]{4,8}:[0-9a-f]{2}:|amdgpu: |kfd kfd: |\[drm[\]:]|AMD-Vi: "
    r"|iommu: |Linux version [0-9]|(?:Kernel c|C)ommand line: |-- (?:Boot|Reboot|No entries)\b"
)
_BEGINNING = re.compile(r"\[drm[\]:]|amdgpu[: ]|[A-Za-z][\w./-]{1,30}(?: [\w.:-]{1,30})?: |-- ")
_TERMINAL = 80  # columns: a mail program breaks earlier, a terminal not before
_NARROWEST = 66  # columns that a mail program fills at least before it breaks a line
_SHORTEST = len("[    0.000000] x")
_MOST_PIECES = 60
_MOST_CHARACTERS = 64 * 1024


class KernelLine(NamedTuple):
    """One message, and what stood before it.

    `certain`: only a kernel log has such a line. `uptime_s`: seconds since the start of the
    kernel, None where the prefix does not tell them.
    """

    prefix: str
    text: str
    certain: bool = False
    uptime_s: float | None = None


class _Held(NamedTuple):
    """A line that may go on: the pieces that it was put together from, and the last one."""

    line: KernelLine
    last: str
    pieces: int = 1


def kernel_lines(lines: Iterable[str], telling: re.Pattern[str]) -> Iterator[KernelLine]:
    """Yield the kernel's messages; another process's line in a journal is one without text.

    It holds one line at a time. Most of a log tells nothing and is passed over quickly.

    Args:
        lines: the physical lines.
        telling: what the beginning of each message has that is asked for. Others may be left out.
    """
    held: _Held | None = None
    certain = False
    for number, line in enumerate(lines):
        tells = telling.search(line) is not None
        if held is None and not tells and (certain or len(line) < _SHORTEST):
            if not certain and plain(line).strip():
                yield KernelLine("", line)
            continue
        physical = plain(line.rstrip("\r\n"))[:_MOST_CHARACTERS]
        found = _read(physical, first=number == 0)
        if held and not found.prefix and _goes_on(held, found.text):
            held = _joined(held, physical.lstrip("> "))
            continue
        if held:
            yield from _messages(held.line)
        held = _Held(found, physical) if tells else None
        if not certain and not tells and physical.strip():
            yield found
        certain = certain or found.certain
    if held:
        yield from _messages(held.line)


def _read(physical: str, *, first: bool) -> KernelLine:
    """Split a line behind its prefix; one of another process is all prefix."""
    quoted = _QUOTED.match(physical)
    start = quoted.end() if quoted else 0
    journal = _journal_prefix(physical, start)
    stamps = _STAMPS.match(physical, journal)
    end = stamps.end() if stamps else journal
    if first and end == start and (cut := _CUT_STAMP.match(physical)):
        end = cut.end()
    if end == start and _OTHER_PROCESS.match(physical, start):
        return KernelLine(physical, "")
    text = physical[end:]
    seconds = stamps["seconds"] if stamps else None
    certain = bool(seconds or journal > start or _KNOWN.match(text))
    if stamps and not certain:
        certain = bool(stamps["own"] or (stamps["date"] and not _OTHER_DATED.match(text)))
    return KernelLine(physical[start:end], text, certain, float(seconds) if seconds else None)


def _journal_prefix(physical: str, start: int) -> int:
    """Where the message begins behind journald's or syslog's prefix; `start` without one."""
    for name in (_JOURNAL, _SYSLOG):
        at = physical.find(name, start, start + _LONGEST_JOURNAL_PREFIX)
        if at == start:
            return at + len(name)
        head = physical[start : max(at, start)]
        if head.endswith(" ") and ": " not in head and _TIME.search(head):
            return at + len(name)
    return start


def _goes_on(held: _Held, piece: str) -> bool:
    """Whether a line without a prefix is the rest of the one before it."""
    if held.pieces >= _MOST_PIECES or not held.line.text or not piece or _BEGINNING.match(piece):
        return False
    if not held.line.prefix and not held.last.endswith(" "):
        return False
    return len(held.last) + len(piece.split(maxsplit=1)[0]) >= _NARROWEST


def _joined(held: _Held, piece: str) -> _Held:
    """Put a piece behind its forerunner, without a blank where a terminal broke the line."""
    whole = len(held.last) >= _TERMINAL or held.last.endswith(" ")
    text = held.line.text + ("" if whole else " ") + piece
    return _Held(held.line._replace(text=text), piece, held.pieces + 1)


def _messages(line: KernelLine) -> Iterator[KernelLine]:
    """Split where another message begins inside: two writers at one console, lost newlines."""
    first, *others = _INSIDE.split(line.text) if _INSIDE.search(line.text) else [line.text]
    yield line._replace(text=first)
    yield from (_read(other, first=False) for other in others)
