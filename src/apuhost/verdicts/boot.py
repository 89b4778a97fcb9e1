"""Verdicts on boots: does the host save each, were those since the last report good, what changed?

A boot that is past is judged by what the host saved of it, with today's settings, and only warns:
how the host is now, the other verdicts tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from apuhost import saved_boot, verdict_ids
from apuhost.changes import NOT_THERE, FileChange
from apuhost.changes import boot as changes
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.last_report import LastReport
from apuhost.probes.boots import KeptBoot
from apuhost.probes.units import SCRIPT
from apuhost.settings import Settings
from apuhost.verdicts import Found, Layer, Question, Severity, Status, Verdict, concerns, judge
from apuhost.verdicts.parameter import DEPLOY
from apuhost.verdicts.versions import READ, versions
from apuhost.verdicts.waivers import after_waivers, day_of

IDS = verdict_ids.BOOT
"""What `verdicts` answers, in its order."""

SHOWN_DIGITS = 8
AGAIN = f"systemctl start {changes.UNIT_NAME}"
AT_WORK = ("activating", "reloading")


def verdicts(settings: Settings, derived: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """Every verdict of this concern, in a fixed order."""
    return (unit(derived, facts), reports(settings, facts), unchanged(facts))


def unit(derived: Derived, facts: HostFacts) -> Verdict:
    """Do the unit and the timer that save a boot stand as rendered, and did the last run work?"""
    return judge(
        Question("boot.unit", f"{changes.UNIT_NAME} and its timer enabled, the last run good"),
        (
            (Layer.CONFIGURED, lambda: _written(derived, facts)),
            (Layer.LIVE, lambda: _ran(facts)),
        ),
    )


def reports(settings: Settings, facts: HostFacts) -> Verdict:
    """Was every boot saved, and was each one good that no report has told of yet?"""
    asked = Question("boot.reports", "this boot saved, and every one before it good", _WARNS)
    return judge(asked, ((Layer.EFFECTIVE, lambda: _reported(settings, facts)),))


def unchanged(facts: HostFacts) -> Verdict:
    """Are kernel, Mesa, firmware, image and Docker those of the report, or boot, before?"""
    asked = Question("boot.unchanged", "kernel, Mesa, firmware, image, Docker as before", _WARNS)
    return judge(asked, ((Layer.EFFECTIVE, lambda: _compared(facts)),))


_WARNS = Severity.RECOMMENDED


def seen(facts: HostFacts) -> LastReport:
    """What the next report compares with, as far as it could be read."""
    try:
        kept = facts.boots.kept
    except Unreadable:
        kept = ()
    boots = {each.boot_id: each.saved_at for each in kept}
    return LastReport(facts.gathered, versions(facts), boots)


def _written(derived: Derived, facts: HostFacts) -> Found:
    for change in changes.files(derived, facts):
        if _of_another_version(change):
            continue
        state = (
            f"{change.path} is {'not there' if change.found == NOT_THERE else 'not as rendered'}"
        )
        return Found(False, state, state, DEPLOY)
    for name in (changes.UNIT_NAME, changes.TIMER_NAME):
        found = facts.units.units.get(name)
        state = (found.unit_file_state if found else "") or "not there"
        if state != "enabled":
            return Found(False, f"{name} is {state}", f"systemctl is-enabled {name}", DEPLOY)
    return Found(True, "enabled")


def _of_another_version(change: FileChange) -> bool:
    """Each version of apuhost has a script of its own: one that saves is good until a deploy."""
    return change.path == SCRIPT and change.found != NOT_THERE


def _ran(facts: HostFacts) -> Found:
    """A unit at work is good: in what it saves it is always."""
    found = facts.units.units.get(changes.UNIT_NAME)
    timer = facts.units.units.get(changes.TIMER_NAME)
    if found is None or timer is None:
        raise Unreadable(f"systemd says nothing of {changes.UNIT_NAME} and its timer")
    if found.active_state == "failed" or found.result != "success":
        said = f"systemctl status {changes.UNIT_NAME}: {found.active_state}, {found.result}"
        journal = f"journalctl -b -u {changes.UNIT_NAME}"
        return Found(False, f"its last run: {found.active_state}, {found.result}", said, journal)
    if timer.active_state != "active":
        said = f"systemctl status {changes.TIMER_NAME}: {timer.active_state}"
        return Found(False, f"its timer is {timer.active_state}", said, DEPLOY)
    at_work = found.active_state in AT_WORK
    return Found(True, "at work now" if at_work else "its last run was good")


@dataclass(frozen=True)
class _Past:
    """A boot before this one, and what failed in it (required verdicts, waivers counted)."""

    boot: KeptBoot
    failed: tuple[Verdict, ...]

    @property
    def sentence(self) -> str:
        """`boot 2d50da51 of 2026-11-28 03:12: kernel.gtt failed, differs first at booted`."""
        first, *more = self.failed
        layer = f", differs first at {first.layer}" if first.layer else ""
        others = f", and {len(more)} more" if more else ""
        return f"{_named(self.boot)}: {first.id} failed{layer}{others}"


def _reported(settings: Settings, facts: HostFacts) -> Found:
    this = facts.boots.of(facts.boot.boot_id)
    fresh = [each for each in facts.boots.kept if each is not this and _is_new(each, facts.last)]
    sent = [each for each in fresh if each.text is not None]
    past = [_Past(each, _failed(settings, facts.host, each)) for each in sent]
    bad = [each for each in past if each.failed]
    if bad:
        said = "; ".join(each.sentence for each in bad)
        journal = f"journalctl -b {bad[0].boot.boot_id.replace('-', '')}, where it is kept"
        return Found(False, said, bad[0].failed[0].observed, journal)
    if damaged := next((each for each in fresh if each.damaged), None):
        raise Unreadable(f"{_named(damaged)} is damaged on the host")
    if this is None:
        there = facts.units.known(changes.UNIT_NAME)
        why = AGAIN if there else f"{changes.UNIT_NAME} is not there (boot.unit)"
        raise Unreadable(f"nothing was saved of this boot yet: {why}")
    return Found(True, f"this boot saved {_time(this.saved_at)}; {_good(fresh, sent, facts.last)}")


def _is_new(boot: KeptBoot, last: LastReport | None) -> bool:
    return last is None or last.boots.get(boot.boot_id) != boot.saved_at


def _failed(settings: Settings, host: str, boot: KeptBoot) -> tuple[Verdict, ...]:
    facts = saved_boot.read(boot.text or "", host)
    found = concerns.verdicts(concerns.OF_ANY_BOOT, settings, facts)
    judged = after_waivers(found, settings.host.host_waivers, day_of(facts))
    required = (each for each in judged if each.severity is Severity.REQUIRED)
    return tuple(each for each in required if each.status is Status.FAIL)


def _good(fresh: Sequence[KeptBoot], sent: Sequence[KeptBoot], last: LastReport | None) -> str:
    """`2 boots since 2026-11-28: all good`; of many, how many were judged."""
    when = f"since {last.day}" if last and last.day else "before it"
    if not fresh:
        return f"none {when}"
    boots = f"{len(fresh)} boot{'s' if len(fresh) > 1 else ''} {when}"
    judged = "" if len(sent) == len(fresh) else f", the newest {len(sent)} judged"
    return f"{boots}{judged}: all good" if sent else f"{boots}, not judged: their files are large"


def _named(boot: KeptBoot) -> str:
    return f"boot {boot.boot_id[:SHOWN_DIGITS]} of {_time(boot.saved_at)}"


def _time(seconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return f"second {seconds}"


def _compared(facts: HostFacts) -> Found:
    before = facts.last or _boot_before(facts)
    if before is None:
        return Found(None, "first report")
    if before.damage:
        raise Unreadable(before.damage)
    now = versions(facts)
    changed = [
        f"{name} {before.versions[name]} is {now[name]}"
        for name in READ
        if name in before.versions and name in now and before.versions[name] != now[name]
    ]
    since = f"since {before.day}"
    if changed:
        told = "none, if that was meant: the next report compares with this one"
        return Found(False, f"{', '.join(changed)} {since}", f"report of {before.gathered}", told)
    for name, read in READ.items():
        if name in before.versions and name not in now:
            read(facts)  # says why
    return Found(True, f"as on {before.day}")


def _boot_before(facts: HostFacts) -> LastReport | None:
    """What the host saved last before this boot: where no report is kept, that one counts."""
    try:
        kept = facts.boots.kept
    except Unreadable:
        return None
    for boot in kept:
        if boot.boot_id != facts.boot.boot_id and boot.text is not None:
            saved = saved_boot.read(boot.text, facts.host)
            return LastReport(saved.gathered, versions(saved))
    return None
