"""What is said of verdicts, each cause once: those that share one are told together."""

from collections import Counter
from collections.abc import Iterable, Sequence

from apuhost.report.outcome import FAILED, Word, concern, sentence, waiver, word
from apuhost.report.text import WIDTH, WORD_WIDTH, wrapped
from apuhost.verdicts import Verdict

Told = tuple[Verdict, ...]
"""One verdict, or those of a host that have one cause."""

UNANSWERED = (Word.UNKNOWN, Word.SKIP)
"""Of these the cause is all that is to be said."""

MOST_NAMED = 8
"""As many names of verdicts fit into a line or two."""


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


def said(told: Told, width: int = WIDTH) -> list[str]:
    """All that is said of them, but for the fix."""
    first, *others = told
    if not others:
        return [*_found(first, width), *_reason(first, width)]
    if word(first) in UNANSWERED:
        lines = wrapped(f"{word(first):{WORD_WIDTH}}{first.id} ", first.reason, width)
        return [*lines, *wrapped("", f"and {_others(others)}", width)]
    lines = [line for verdict in told for line in _found(verdict, width)]
    return [*lines, *_reason(first, width), *wrapped("", f"holds for {_ids(told)}", width)]


def _found(verdict: Verdict, width: int) -> list[str]:
    """What was found and asked, and the first layer that differs."""
    lines = wrapped(f"{word(verdict):{WORD_WIDTH}}{verdict.id} ", sentence(verdict), width)
    if word(verdict) in FAILED and verdict.layer:
        evidence = f"  ({verdict.evidence})" if verdict.evidence else ""
        lines += wrapped("", f"differs first at: {verdict.layer}{evidence}", width)
    return lines


def _reason(verdict: Verdict, width: int) -> list[str]:
    """What else is to be said where the sentence has no room for it."""
    if word(verdict) is Word.WAIVED:
        return wrapped("", waiver(verdict), width)
    told = word(verdict) in FAILED and verdict.reason
    return wrapped("", verdict.reason, width) if told else []


def _others(verdicts: Sequence[Verdict]) -> str:
    """Their names, or of many how many of each concern: what is missing is said once above."""
    if len(verdicts) <= MOST_NAMED:
        return _ids(verdicts)
    counts = Counter(map(concern, verdicts))
    return f"{len(verdicts)} more: {', '.join(f'{n} of {name}' for name, n in counts.items())}"


def _ids(verdicts: Iterable[Verdict]) -> str:
    return " ".join(verdict.id for verdict in verdicts)
