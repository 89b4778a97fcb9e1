"""One host's verdicts in lines: what is wrong first, then a count per concern."""

from collections import Counter
from collections.abc import Sequence

from apuhost.report.command import fix
from apuhost.report.outcome import FAILED, Word, concern, word, worst_first, worth_a_word
from apuhost.report.text import INDENT, WIDTH, parts, visible, wrapped
from apuhost.report.told import Told, by_cause, said
from apuhost.verdicts import Verdict
from apuhost.verdicts.host import HostReport

GAP = "   "
COUNTED = {Word.FAIL: "failed", Word.WARN: "warned", Word.UNKNOWN: "unknown", Word.SKIP: "skipped"}


def host_lines(report: HostReport, inventory: str, width: int = WIDTH, *, every: bool) -> list[str]:
    """Failures first with layer, evidence and fix, then a count per concern.

    A cause is said once with all that it holds for; `every`: each verdict by itself, good ones too.
    """
    if report.unreachable:
        return wrapped(f"{visible(report.host)}  not reached: ", report.unreachable, width, "  ")
    shown = worst_first(v for v in report.verdicts if every or worth_a_word(v))
    head = wrapped(f"{visible(report.host)}  ", report.header, width, "  ")
    damage = wrapped("", report.damage, width, "") if report.damage else []
    lines = [*head, *damage, ""]
    for told in [(verdict,) for verdict in shown] if every else by_cause(shown):
        lines += _told_lines(told, report.host, inventory, width)
    return [*lines, *([""] if shown else []), *_count(report.verdicts, width)]


def verdict_lines(verdict: Verdict, host: str, inventory: str) -> list[str]:
    """One verdict: what was found and asked, the first layer that differs, what to type."""
    return _told_lines((verdict,), host, inventory)


def _told_lines(told: Told, host: str, inventory: str, width: int = WIDTH) -> list[str]:
    lines, first = said(told, width), told[0]
    if first.fix and word(first) in FAILED:
        # In one piece, whatever its width: it is there to be copied.
        lines.append(visible(f"{INDENT}fix: {fix(first, host, inventory)}"))
    return lines


def _count(verdicts: Sequence[Verdict], width: int) -> list[str]:
    """`kernel 5/6   gpu 1/1      6 of 7 good, 1 failed`: skipped and waived ones are told only."""
    judged = [v for v in verdicts if word(v) not in (Word.SKIP, Word.WAIVED)]
    good = Counter(concern(v) for v in judged if word(v) is Word.OK)
    total = Counter(concern(v) for v in judged)
    concerns = [f"{name} {good[name]}/{total[name]}" for name in total]
    found = Counter(map(word, verdicts))
    counts = [f"{found[each]} {name}" for each, name in COUNTED.items() if found[each]]
    whole = [f"{sum(good.values())} of {len(judged)} good{_waived(verdicts)}", *counts]
    line = f"{GAP.join(concerns)}{GAP}{GAP}{', '.join(whole)}"
    if len(line) <= width:
        return [line]
    return [*parts(concerns, GAP, width), *wrapped("", ", ".join(whole), width, "")]


def _waived(verdicts: Sequence[Verdict]) -> str:
    """` (2 waived: firmware.svm until 2027-03-01, kernel.iommu)`."""
    named = [
        f"{v.id} until {v.until}" if v.until else v.id for v in verdicts if word(v) is Word.WAIVED
    ]
    return f" ({len(named)} waived: {', '.join(named)})" if named else ""
