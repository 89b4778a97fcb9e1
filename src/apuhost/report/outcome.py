"""What verdicts amount to: one word each, one exit status for all."""

from collections.abc import Iterable
from enum import StrEnum

from apuhost.verdicts import Severity, Status, Verdict
from apuhost.verdicts.host import HostReport


class Word(StrEnum):
    """How a verdict is called in every form for people, the worst first."""

    FAIL = "FAIL"
    WARN = "warn"
    UNKNOWN = "?"
    WAIVED = "waived"
    SKIP = "skip"
    OK = "ok"


ORDER = tuple(Word)
FAILED = (Word.FAIL, Word.WARN)

_WORDS = {
    Status.FAIL: Word.FAIL,
    Status.UNKNOWN: Word.UNKNOWN,
    Status.WAIVED: Word.WAIVED,
    Status.SKIP: Word.SKIP,
    Status.PASS: Word.OK,
}


def word(verdict: Verdict) -> Word:
    """What a verdict is called: one that fails and is only recommended is a warning."""
    if verdict.status is Status.FAIL and verdict.severity is Severity.RECOMMENDED:
        return Word.WARN
    return _WORDS[verdict.status]


def sentence(verdict: Verdict) -> str:
    """What was found, and beside it what was asked where the two are not the same."""
    match word(verdict):
        case Word.FAIL | Word.WARN | Word.WAIVED:
            return f"{verdict.observed}; asked: {verdict.expected}"
        case Word.OK:
            return f"{verdict.observed} ({verdict.reason})" if verdict.reason else verdict.observed
        case _:
            return f"{verdict.expected}: {verdict.reason}"


def waiver(verdict: Verdict) -> str:
    """How long a verdict is waived, and why."""
    until = f" until {verdict.until}" if verdict.until else ""
    return f"waived{until}: {verdict.reason}"


def worst_first(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts by their words; those of one word stay in their order."""
    return sorted(verdicts, key=lambda verdict: ORDER.index(word(verdict)))


def worth_a_word(verdict: Verdict) -> bool:
    """Whether it is shown without -v: what is not good, and what is good but has a reason."""
    return verdict.status is not Status.PASS or bool(verdict.reason)


def concern(verdict: Verdict) -> str:
    """`kernel.gtt` is of the concern `kernel`."""
    return verdict.id.partition(".")[0]


def exit_status(reports: Iterable[HostReport]) -> int:
    """1: a required one failed; else 2: one is unknown or a host was not reached; else 0."""
    seen = tuple(reports)
    required = [v for r in seen for v in r.verdicts if v.severity is Severity.REQUIRED]
    if any(v.status is Status.FAIL for v in required):
        return 1
    unread = any(v.status is Status.UNKNOWN for v in required)
    return 2 if unread or any(report.unreachable for report in seen) else 0
