"""Waivers: verdicts that somebody answers for, with a reason, until a day."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime

from apuhost.host_facts import HostFacts
from apuhost.settings.waiver import Waiver
from apuhost.verdicts import Severity, Status, Verdict


def after_waivers(
    found: Iterable[Verdict], waivers: Iterable[Waiver], today: date
) -> tuple[Verdict, ...]:
    """The verdicts, those that are waived as their waiver makes them on that day."""
    given = {waiver.id: waiver for waiver in waivers}
    return tuple(
        _after(verdict, given[verdict.id], today) if verdict.id in given else verdict
        for verdict in found
    )


def day_of(facts: HostFacts) -> date:
    """The day on which facts were read, in UTC."""
    return datetime.fromisoformat(facts.gathered).astimezone(UTC).date()


def _after(verdict: Verdict, waiver: Waiver, today: date) -> Verdict:
    named = replace(verdict, until=str(waiver.until or ""))
    expired = waiver.until is not None and waiver.until < today
    if verdict.status is Status.SKIP:
        return verdict
    if verdict.status is Status.PASS:
        return replace(named, reason="waiver no longer needed: take it out of host_waivers")
    return _expired(named, waiver) if expired else _waived(named, waiver)


def _waived(verdict: Verdict, waiver: Waiver) -> Verdict:
    return replace(verdict, status=Status.WAIVED, reason=_joined(waiver.reason, verdict.reason))


def _expired(verdict: Verdict, waiver: Waiver) -> Verdict:
    """A failure, whatever was waived: that somebody answers for it no longer holds."""
    said = f"waiver of {verdict.id} expired on {verdict.until} ({waiver.reason})"
    failed = replace(
        verdict,
        status=Status.FAIL,
        severity=Severity.REQUIRED,
        reason=_joined(said, verdict.reason),
    )
    if verdict.status is not Status.UNKNOWN:
        return failed
    # No layer is known to differ, and nothing to be done on the host follows.
    return replace(failed, layer=None, fix="look at it, then renew its waiver in host_waivers")


def _joined(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)
