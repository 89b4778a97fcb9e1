"""Hosts by concerns: a row for all hosts that share a state, the worst first."""

from collections import Counter
from collections.abc import Iterable, Sequence

from apuhost import ranges
from apuhost.report.outcome import ORDER, Word, concern, word
from apuhost.report.text import WIDTH, visible
from apuhost.verdicts import Verdict
from apuhost.verdicts.host import HostReport

GAP = "  "
LABEL_WIDTH = 30
LEAST_LABEL = 12
TELLING = (Word.FAIL, Word.UNKNOWN, Word.WARN, Word.WAIVED)
"""What a cell tells, the first of them that there is."""

CALLED = {Word.FAIL: "bad"}
NOT_ASKED = "-"

Cells = tuple[str, ...]


def matrix_lines(reports: Sequence[HostReport], width: int = WIDTH) -> list[str]:
    """A head with the concerns, a row for each state; no hosts give no lines.

    Concerns that have no room beside the others have a head and rows of their own below.
    """
    concerns = _concerns(reports)
    rows: dict[Cells, list[HostReport]] = {}
    for report in reports:
        cells = tuple(_cell(v for v in report.verdicts if concern(v) == name) for name in concerns)
        rows.setdefault(cells, []).append(report)
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(concerns, *rows, strict=True)]
    left = width - sum(len(GAP) + each for each in widths)
    room = max(LEAST_LABEL, min(LABEL_WIDTH, left))
    labels = {cells: label([report.host for report in row], room) for cells, row in rows.items()}
    table = [("", concerns)]
    table += [(labels[cells], cells) for cells in sorted(rows, key=lambda c: _worst(rows[c][0]))]
    widest = max(map(len, labels.values()))
    return [
        _row(name, widest, cells[columns], widths[columns])
        for columns in _blocks(widths, width - widest)
        for name, cells in table
    ]


def _blocks(widths: Sequence[int], room: int) -> list[slice]:
    """The columns that have room beside each other, from the left; one at least."""
    blocks, start, used = [], 0, 0
    for column, width in enumerate(widths):
        used += len(GAP) + width
        if used > room and column > start:
            blocks.append(slice(start, column))
            start, used = column, len(GAP) + width
    return [*blocks, slice(start, None)]


def label(hosts: Sequence[str], room: int) -> str:
    """The hosts' names, as many as have room, and the count where not each is written out."""
    names = [visible(name) for name in ranges.folded(hosts)]
    whole = " ".join(names)
    count = f" ({len(hosts)})"
    if len(names) < len(hosts):
        whole += count
    if len(whole) <= room:
        return whole
    end = f" …{count}" if len(hosts) > 1 else "…"
    kept = ""
    for name in names:
        longer = f"{kept} {name}".lstrip()
        if len(longer) + len(end) > room:
            break
        kept = longer
    return f"{kept or names[0][: room - len(end)]}{end}"


def _concerns(reports: Sequence[HostReport]) -> Cells:
    """All concerns, in the order of the host that has most of them."""
    fullest = sorted(reports, key=lambda report: -len(report.verdicts))
    return tuple(dict.fromkeys(concern(v) for report in fullest for v in report.verdicts))


def _cell(verdicts: Iterable[Verdict]) -> str:
    found = Counter(map(word, verdicts))
    for each in TELLING:
        if found[each]:
            return f"{found[each]} {CALLED.get(each, each)}"
    return "ok" if found[Word.OK] else NOT_ASKED


def _row(name: str, width: int, cells: Iterable[str], widths: Iterable[int]) -> str:
    columns = zip(cells, widths, strict=True)
    return GAP.join([f"{name:{width}}", *(f"{cell:{size}}" for cell, size in columns)]).rstrip()


def _worst(report: HostReport) -> list[int]:
    """Sorts behind what has more failures, then more warnings, and so on."""
    found = Counter(map(word, report.verdicts))
    return [-found[each] for each in ORDER if each is not Word.OK]
