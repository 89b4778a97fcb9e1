"""What is said of verdicts, each cause once: those that share one are told together."""

from collections.abc import Iterable

from apuhost.report.outcome import FAILED, Word, sentence, waiver, word
from apuhost.report.text import WORD_WIDTH, wrapped
from apuhost.verdicts import Verdict

Told = tuple[Verdict, ...]
"""One verdict, or those of a host that have one cause."""

UNANSWERED = (Word.UNKNOWN, Word.SKIP)
"""Of these the cause is all that is to be said."""


def by_cause(verdicts: Iterable[Verdict]) -> list[Told]:
    """Verdicts in their order, each with those further down that have its cause."""
    found: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(_cause(verdict), []).append(verdict)
    return [tuple(each) for each in found.values()]


def _cause(verdict: Verdict) -> tuple[str, ...]:
    """What is the same for all that have one cause; a reason is one, a fix alone is none."""
    if word(verdict) in UNANSWERED:
        return (word(verdict), verdict.reason)
    if word(verdict) in FAILED and verdict.reason:
        return (word(verdict), verdict.reason, verdict.fix)
    return (word(verdict), verdict.id)


def said(told: Told) -> list[str]:
    """All that is said of them, but for the fix."""
    first, *others = told
    if not others:
        return [*_found(first), *_reason(first)]
    if word(first) in UNANSWERED:
        lines = wrapped(f"{word(first):{WORD_WIDTH}}{first.id} ", first.reason)
        return [*lines, *wrapped("", f"and {_ids(others)}")]
    lines = [line for verdict in told for line in _found(verdict)]
    return [*lines, *_reason(first), *wrapped("", f"holds for {_ids(told)}")]


def _found(verdict: Verdict) -> list[str]:
    """What was found and asked, and the first layer that differs."""
    lines = wrapped(f"{word(verdict):{WORD_WIDTH}}{verdict.id} ", sentence(verdict))
    if word(verdict) in FAILED and verdict.layer:
        evidence = f"  ({verdict.evidence})" if verdict.evidence else ""
        lines += wrapped("", f"differs first at: {verdict.layer}{evidence}")
    return lines


def _reason(verdict: Verdict) -> list[str]:
    """What else is to be said where the sentence has no room for it."""
    if word(verdict) is Word.WAIVED:
        return wrapped("", waiver(verdict))
    return wrapped("", verdict.reason) if word(verdict) in FAILED and verdict.reason else []


def _ids(verdicts: Iterable[Verdict]) -> str:
    return " ".join(verdict.id for verdict in verdicts)
