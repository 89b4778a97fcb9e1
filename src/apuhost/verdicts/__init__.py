"""Verdicts: what was asked against what was found, layer by layer. Pure: records in and out."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from apuhost.host_facts import Unreadable


class Status(StrEnum):
    """What a verdict says. `unknown` (could not be read) and `waived` are never a pass."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    SKIP = "skip"
    UNKNOWN = "unknown"
    WAIVED = "waived"


class Severity(StrEnum):
    """Whether a failing verdict fails the host."""

    REQUIRED = "required"
    RECOMMENDED = "recommended"


class Layer(StrEnum):
    """Where a setting can differ from what was asked, in the order in which it takes effect."""

    CONFIGURED = "configured"
    BOOTED = "booted"
    LIVE = "live"
    EFFECTIVE = "effective"


@dataclass(frozen=True)
class Verdict:
    """One question about one host, answered.

    `layer` is the first layer that differs; `evidence` is the very line or value; `fix` is what
    to type (INVENTORY stands for the inventory's path); `reason` says why for skip, unknown and
    waived, and why a deploy, which would be the fix, is refused; `until` is the last day of its
    waiver, as 2027-03-01.
    """

    id: str
    status: Status
    expected: str
    observed: str
    severity: Severity = Severity.REQUIRED
    layer: Layer | None = None
    evidence: str = ""
    fix: str = ""
    reason: str = ""
    until: str = ""


@dataclass(frozen=True)
class Found:
    """What one layer shows: whether it holds what was asked (None: it cannot show it here)."""

    holds: bool | None
    observed: str
    evidence: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Question:
    """A verdict's name and what was asked, before any layer was looked at."""

    id: str
    expected: str
    severity: Severity = Severity.REQUIRED


Look = tuple[Layer, Callable[[], Found]]


def judge(question: Question, looks: Iterable[Look]) -> Verdict:
    """Look at every layer in order and name the first that differs.

    A layer that differs outweighs one that cannot be read; one that cannot be read makes the
    verdict unknown; one that cannot show it on this host makes it a skip, with the reason.
    """
    seen: list[tuple[Layer, Found | Unreadable]] = []
    for layer, look in looks:
        found = _looked(look)
        if isinstance(found, Found) and found.holds is False:
            return _failed(question, layer, found)
        seen.append((layer, found))
    return _without_fault(question, seen)


def _looked(look: Callable[[], Found]) -> Found | Unreadable:
    try:
        return look()
    except Unreadable as error:
        return error


def _failed(question: Question, layer: Layer, found: Found) -> Verdict:
    return Verdict(
        question.id,
        Status.FAIL,
        question.expected,
        found.observed,
        question.severity,
        layer,
        found.evidence,
        found.fix,
    )


def _without_fault(question: Question, seen: Sequence[tuple[Layer, Found | Unreadable]]) -> Verdict:
    shown = [found for _, found in seen if isinstance(found, Found)]
    observed = next((found.observed for found in reversed(shown) if found.holds), "")
    so_far = (question.expected, observed or "not read", question.severity)
    for layer, found in seen:
        if isinstance(found, Unreadable):
            return Verdict(question.id, Status.UNKNOWN, *so_far, layer, reason=str(found))
    unshown = next((found.observed for found in shown if found.holds is None), "")
    status = Status.SKIP if unshown else Status.PASS
    return Verdict(
        question.id, status, question.expected, observed, question.severity, reason=unshown
    )
