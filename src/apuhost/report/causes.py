"""What is wrong on many hosts, by cause: the hosts that share one are named together."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from apuhost import ranges
from apuhost.report.command import fix_lines
from apuhost.report.outcome import FAILED, ORDER, Word, sentence, word, worth_a_word
from apuhost.report.text import WIDTH, wrapped
from apuhost.report.told import UNANSWERED, Told, by_cause, said
from apuhost.verdicts import Status, Verdict
from apuhost.verdicts.host import HostReport

_NUMBER = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True)
class Cause:
    """What some hosts have in common: `told` is the first one's, `alike` if it is everybody's."""

    told: Told
    hosts: tuple[str, ...]
    alike: bool

    @property
    def word(self) -> Word:
        """What the verdicts are called."""
        return word(self.told[0])


def cause_lines(
    reports: Sequence[HostReport],
    inventory: str,
    limits: Sequence[str] | None,
    width: int = WIDTH,
) -> list[str]:
    """Each cause once, the worst and then the most frequent first, with its hosts and the fix.

    Args:
        reports: of the hosts that were reached.
        inventory: its path, as it is typed behind a command.
        limits: what was asked for, where all of it was reached; else None.
        width: of a line, in columns.
    """
    lines = []
    for (_, hosts, fix), group in groupby(_causes(reports), _footer):
        causes = list(group)
        for cause in causes:
            lines += said(cause.told, width)
        lines += _named(hosts, width, alike=all(cause.alike for cause in causes))
        if fix:
            everybody = limits if len(hosts) == len(reports) else None
            meant = ranges.folded(hosts) if everybody is None else everybody
            lines += fix_lines(fix, inventory, meant, width)
        lines.append("")
    return lines[:-1]


def unreached_lines(reports: Iterable[HostReport], width: int = WIDTH) -> list[str]:
    """Each reason once, with the hosts that were not reached for it."""
    return _by_reason("not reached", {each.host: each.unreachable for each in reports}, width)


def damage_lines(reports: Iterable[HostReport], width: int = WIDTH) -> list[str]:
    """The hosts whose saved facts look damaged."""
    return _by_reason("damaged", {each.host: each.damage for each in reports}, width)


def _by_reason(head: str, reasons: Mapping[str, str], width: int) -> list[str]:
    groups: dict[str, list[str]] = {}
    for host, reason in reasons.items():
        if reason:
            own = re.sub(rf"\b{re.escape(host)}\b", "", reason)
            groups.setdefault(_NUMBER.sub("", own), []).append(host)
    lines = []
    for hosts in sorted(groups.values(), key=len, reverse=True):
        alike = len({reasons[host] for host in hosts}) == 1
        lines += wrapped(f"{head} ", reasons[hosts[0]], width)
        lines += _named(hosts, width, alike=alike)
    return lines


def _causes(reports: Iterable[HostReport]) -> list[Cause]:
    found: dict[tuple[str, ...], list[tuple[str, Told]]] = {}
    for report in reports:
        for told in _told(report):
            found.setdefault(_common(told), []).append((report.host, told))
    causes = [
        Cause(
            told=cases[0][1],
            hosts=tuple(host for host, _ in cases),
            alike=len({tuple(map(_words, told)) for _, told in cases}) == 1,
        )
        for cases in found.values()
    ]
    # Those with one footer side by side.
    return sorted(causes, key=lambda cause: (_rank(cause), _footer(cause)))


def _rank(cause: Cause) -> tuple[int, int]:
    return ORDER.index(cause.word), -len(cause.hosts)


def _footer(cause: Cause) -> tuple[Word, tuple[str, ...], str]:
    """What is said once below several causes of the same hosts."""
    fix = cause.told[0].fix if cause.word in FAILED else ""
    return cause.word, cause.hosts, fix


def _told(report: HostReport) -> list[Told]:
    """What is worth a word, by cause; what is skipped is not."""
    return by_cause(
        each for each in report.verdicts if worth_a_word(each) and each.status is not Status.SKIP
    )


def _common(told: Told) -> tuple[str, ...]:
    """What hosts with one cause have in common: all but the numbers in what was found."""
    return tuple(part for verdict in told for part in _kind(verdict))


def _kind(verdict: Verdict) -> tuple[str, ...]:
    asked = "" if word(verdict) in UNANSWERED else sentence(verdict)
    found = _NUMBER.sub("", f"{asked}\n{verdict.reason}")
    return (verdict.id, word(verdict), verdict.layer or "", found, verdict.until, verdict.fix)


def _words(verdict: Verdict) -> str:
    return "\n".join((sentence(verdict), verdict.evidence, verdict.reason))


def _named(hosts: Sequence[str], width: int, *, alike: bool) -> list[str]:
    """`17 hosts: c[01:17]`, and whose words are shown where not all say the very same."""
    count = f"{len(hosts)} host{'s' if len(hosts) > 1 else ''}"
    example = "" if alike else f" (details of {hosts[0]})"
    return wrapped("", f"{count}{example}: {' '.join(ranges.folded(hosts))}", width)
