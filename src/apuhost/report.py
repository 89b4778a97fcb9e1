"""What people read: plans, verdicts and their JSON. Pure: records in, lines out."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from difflib import unified_diff
from shlex import quote
from textwrap import wrap
from typing import Any

from apuhost.changes import FileChange, HostPlan, RolePlan
from apuhost.probes.secrets import without_logins
from apuhost.verdicts import Layer, Severity, Status, Verdict
from apuhost.verdicts.host import HostReport

SCHEMA = 1
WIDTH = 100
ID_WIDTH = 22
LONGEST_NEW = 40
INDENT = " " * (6 + ID_WIDTH)
WORDS = {Status.PASS: "ok", Status.FAIL: "FAIL", Status.SKIP: "skip", Status.UNKNOWN: "?"}


def diff(change: FileChange) -> list[str]:
    """The lines of a file that go (-) and come (+); comments in our own files say nothing new."""
    before = (change.before or "").splitlines()
    # The first two lines are the files' names; without context every other one is - or + or @@.
    lines = list(unified_diff(before, change.after.splitlines(), lineterm="", n=0))[2:]
    skipped = ("@@",) if change.operators else ("@@", "+#", "-#")
    shown = [line for line in lines if not line.startswith(skipped)]
    # Only now: a line in which nothing but a password changes is a change.
    return [f"{line[0]} {visible(without_logins(line[1:]))}" for line in shown]


def visible(text: str) -> str:
    """Text of a host as one line of a terminal: control characters are shown, not obeyed."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def plan_lines(host: str, plan: HostPlan) -> list[str]:
    """What would change on a host, as a diff, with the notes that go with it."""
    return [visible(line) for line in _plan_lines(host, plan)]


def _plan_lines(host: str, plan: HostPlan) -> list[str]:
    headline = "nothing to change" if plan.empty else _headline(plan)
    lines = [f"{host}  {headline}"]
    for role in plan.roles:
        lines += _role_lines(role, every=not plan.empty)
    return [*lines, *(f"  {'reboot':8} {reason}" for reason in plan.reboot)]


def _role_lines(role: RolePlan, *, every: bool) -> list[str]:
    """What changes, then what stays (not worth a word where nothing changes), then the notes."""
    lines = [f"{keeps}" for keeps in role.kept] if every else []
    for change in role.files:
        lines.append(f"{change.path:38} {change.why}")
        lines += [f"    {line}" for line in _bounded(change)]
    for action in role.actions:
        lines.append(f"{action.what:38} {action.how}")
        lines += [f"    {why}" for why in action.why]
    lines += [f"note: {note}" for note in role.notes]
    return [f"  {role.role if number == 0 else '':8} {line}" for number, line in enumerate(lines)]


def _bounded(change: FileChange) -> list[str]:
    """The diff; of a long new file of ours, which nobody wrote by hand, its length."""
    lines = diff(change)
    ours = change.before is None and not change.operators
    return [f"+ {len(lines)} lines"] if ours and len(lines) > LONGEST_NEW else lines


def _headline(plan: HostPlan) -> str:
    count = sum(len(role.files) + len(role.actions) for role in plan.roles)
    things = f"{count} thing{'s' if count != 1 else ''}"
    changing = f"would change {things}" if count else "would change nothing"
    return f"{changing} and reboot once" if plan.reboot else f"{changing}; no reboot"


def verify_lines(reports: Sequence[HostReport], inventory: str, *, every: bool) -> list[str]:
    """Failures first with layer, evidence and fix, then a count per concern, for each host."""
    lines = []
    for report in reports:
        lines += _host_lines(report, inventory, every=every)
        lines.append("")
    return [visible(line) for line in lines[:-1]]


def _host_lines(report: HostReport, inventory: str, *, every: bool) -> list[str]:
    if report.unreachable:
        return [f"{report.host}  not reached: {report.unreachable}"]
    order = [Status.FAIL, Status.UNKNOWN, Status.SKIP, Status.PASS]
    shown = [v for v in report.verdicts if every or v.status is not Status.PASS]
    lines = [f"{report.host}  {report.header}", ""]
    for verdict in sorted(shown, key=lambda v: order.index(v.status)):
        lines += verdict_lines(verdict, report.host, inventory)
    return [*lines, *([""] if shown else []), *_count(report.verdicts)]


def verdict_lines(verdict: Verdict, host: str, inventory: str) -> list[str]:
    """One verdict: what was found and asked, the first layer that differs, what to type."""
    word = WORDS[verdict.status]
    if verdict.status is Status.FAIL and verdict.severity is Severity.RECOMMENDED:
        word = "warn"
    lines = _wrapped(f"{word:5} {verdict.id:{ID_WIDTH}}", _sentence(verdict))
    if verdict.status is Status.FAIL and verdict.layer:
        evidence = f"  ({verdict.evidence})" if verdict.evidence else ""
        lines += _wrapped(INDENT, f"differs first at: {verdict.layer}{evidence}")
    if verdict.reason and verdict.status is Status.FAIL:
        lines += _wrapped(INDENT, verdict.reason)
    if verdict.fix and verdict.status is Status.FAIL:
        # In one piece, whatever its width: it is there to be copied.
        lines.append(f"{INDENT}fix: {fix(verdict, host, inventory)}")
    return [visible(line) for line in lines]


def _wrapped(head: str, sentence: str) -> list[str]:
    """The sentence behind its head, cut at blanks into lines of WIDTH; its words stay whole."""
    lines = wrap(
        visible(sentence),
        WIDTH - len(head),
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    return [
        f"{head}{line}" if n == 0 else f"{INDENT}{line}" for n, line in enumerate(lines or [""])
    ]


def fix(verdict: Verdict, host: str, inventory: str) -> str:
    """What to type for a failing verdict on this host."""
    # Both may come from a facts folder of somebody else, and the line is there to be pasted.
    named = f"{quote(inventory)} --limit {quote(host)}"
    return verdict.fix.replace("INVENTORY", named)


def _sentence(verdict: Verdict) -> str:
    match verdict.status:
        case Status.FAIL:
            return f"{verdict.observed}; asked: {verdict.expected}"
        case Status.PASS:
            return verdict.observed
        case _:
            return f"{verdict.expected}: {verdict.reason}"


def _count(verdicts: Iterable[Verdict]) -> list[str]:
    """`kernel 5/6   gpu 1/1      6 of 7, 1 failed`: skipped ones are told, not counted."""
    judged = [v for v in verdicts if v.status is not Status.SKIP]
    good = Counter(v.id.partition(".")[0] for v in judged if v.status is Status.PASS)
    total = Counter(v.id.partition(".")[0] for v in judged)
    parts = [f"{word} {good[word]}/{total[word]}" for word in total]
    found = Counter(v.status for v in verdicts)
    said = [f"{sum(good.values())} of {len(judged)} good"]
    warned = sum(v.status is Status.FAIL and v.severity is Severity.RECOMMENDED for v in judged)
    counts = {
        "failed": found[Status.FAIL] - warned,
        "warned": warned,
        "unknown": found[Status.UNKNOWN],
        "skipped": found[Status.SKIP],
    }
    said += [f"{count} {word}" for word, count in counts.items() if count]
    concerns, total_said = "   ".join(parts), ", ".join(said)
    line = f"{concerns}      {total_said}"
    return [line] if len(line) <= WIDTH else [concerns, total_said]


def exit_status(reports: Iterable[HostReport]) -> int:
    """1: a required one failed; else 2: one is unknown or a host was not reached; else 0."""
    seen = tuple(reports)
    required = [v for r in seen for v in r.verdicts if v.severity is Severity.REQUIRED]
    if any(v.status is Status.FAIL for v in required):
        return 1
    unread = any(v.status is Status.UNKNOWN for v in required)
    return 2 if unread or any(report.unreachable for report in seen) else 0


def as_json(reports: Iterable[HostReport]) -> dict[str, Any]:
    """The machine-readable report (docs/checks.md has its schema)."""
    seen = tuple(reports)
    failing = [
        f"{report.host} {verdict.id}"
        for report in seen
        for verdict in report.verdicts
        if verdict.status is Status.FAIL
    ]
    return {
        "schema": SCHEMA,
        "ok": exit_status(seen) == 0,
        "failures": failing,
        "hosts": [asdict(report) for report in seen],
    }


def from_json(text: str) -> tuple[HostReport, ...]:
    """The reports in as_json's text.

    Raises:
        ValueError, KeyError, TypeError: the text is no such report.
    """
    return tuple(_host_report(entry) for entry in json.loads(text)["hosts"])


def _host_report(entry: Mapping[str, Any]) -> HostReport:
    verdicts = tuple(_verdict(fields) for fields in entry["verdicts"])
    return HostReport(entry["host"], entry["header"], verdicts, entry["unreachable"])


def _verdict(fields: Mapping[str, Any]) -> Verdict:
    layer = fields["layer"]
    typed = {
        "status": Status(fields["status"]),
        "severity": Severity(fields["severity"]),
        "layer": None if layer is None else Layer(layer),
    }
    return Verdict(**{**fields, **typed})
