"""A plan in lines: what would change on a host, as a diff."""

from difflib import unified_diff

from apuhost.changes import FileChange, HostPlan, RolePlan
from apuhost.probes.secrets import without_logins
from apuhost.report.text import visible

LONGEST_NEW = 40


def diff(change: FileChange) -> list[str]:
    """The lines of a file that go (-) and come (+); comments in our own files say nothing new."""
    before = (change.before or "").splitlines()
    # The first two lines are the files' names; without context every other one is - or + or @@.
    lines = list(unified_diff(before, change.after.splitlines(), lineterm="", n=0))[2:]
    skipped = ("@@",) if change.operators else ("@@", "+#", "-#")
    shown = [line for line in lines if not line.startswith(skipped)]
    # Only now: a line in which nothing but a password changes is a change.
    return [f"{line[0]} {visible(without_logins(line[1:]))}" for line in shown]


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
