"""A plan in lines: what would change on a host, as a diff."""

from collections.abc import Iterable
from difflib import unified_diff

from apuhost.changes import FileChange, HostPlan, RolePlan
from apuhost.probes.secrets import without_logins
from apuhost.report.text import WIDTH, visible, wrapped

LONGEST_NEW = 40
MARGIN = 11
PATH_WIDTH = 38
"""Of what changes, beside how."""

DEEPER = "    "
COMMENTS = ("+#", "-#")


def diff(change: FileChange) -> list[str]:
    """The lines of a file that go (-) and come (+); comments in our own files say nothing new."""
    skipped = () if change.operators else COMMENTS
    return _shown(line for line in _changed(change) if not line.startswith(skipped))


def _changed(change: FileChange) -> list[str]:
    before = (change.before or "").splitlines()
    # The first two lines are the files' names; without context every other one is - or + or @@.
    lines = list(unified_diff(before, change.after.splitlines(), lineterm="", n=0))[2:]
    return [line for line in lines if not line.startswith("@@")]


def _shown(lines: Iterable[str]) -> list[str]:
    # Only now: a line in which nothing but a password changes is a change.
    return [f"{line[0]} {visible(without_logins(line[1:]))}" for line in lines]


def plan_lines(host: str, plan: HostPlan, width: int = WIDTH, *, every: bool = False) -> list[str]:
    """What would change on a host, as a diff, with the notes that go with it.

    Args:
        host: its name.
        plan: what would change.
        width: of a line, in columns; a file's lines stay whole.
        every: each line of a file, also of a long new one and comments.
    """
    headline = "nothing to change" if plan.empty else _headline(plan)
    lines = [f"{host}  {headline}"]
    for role in plan.roles:
        kept = () if plan.empty else role.kept
        told = [*_kept(kept, width - MARGIN), *_role_lines(role, width - MARGIN, every=every)]
        lines += _beside(role.role, told)
    for why in plan.reboot:
        lines += wrapped(f"  {'reboot':8} ", why, width, " " * MARGIN)
    return [visible(line) for line in lines]


def _beside(name: str, lines: Iterable[str]) -> list[str]:
    return [f"  {name if number == 0 else '':8} {line}" for number, line in enumerate(lines)]


def _kept(kept: Iterable[str], width: int) -> list[str]:
    """What stays; where nothing changes it is not worth a word."""
    return [line for each in kept for line in wrapped("", each, width, "")]


def _role_lines(role: RolePlan, width: int, *, every: bool) -> list[str]:
    """What changes, then the notes."""
    lines = []
    for change in role.files:
        why = f"{change.why}: {change.purpose}" if change.purpose else change.why
        lines += _headed(change.path, why, width)
        lines += [f"{DEEPER}{line}" for line in _bounded(change, every=every)]
    for action in role.actions:
        lines += _headed(action.what, action.how, width)
        lines += [line for why in action.why for line in wrapped(DEEPER, why, width, DEEPER)]
    for note in role.notes:
        lines += wrapped("note: ", note, width, " " * len("note: "))
    return lines


def _headed(what: str, how: str, width: int) -> list[str]:
    return wrapped(f"{what:{PATH_WIDTH}} ", how, width, " " * (PATH_WIDTH + 1))


def _bounded(change: FileChange, *, every: bool) -> list[str]:
    """The diff; of a long new file of ours, which nobody wrote by hand, its length."""
    if every:
        return _shown(_changed(change))
    lines = diff(change)
    ours = change.before is None and not change.operators
    if ours and len(lines) > LONGEST_NEW:
        return [f"+ {len(lines)} lines: apuhost plan -v shows them"]
    return lines


def _headline(plan: HostPlan) -> str:
    count = sum(len(role.files) + len(role.actions) for role in plan.roles)
    things = f"{count} thing{'s' if count != 1 else ''}"
    changing = f"would change {things}" if count else "would change nothing"
    return f"{changing} and reboot once" if plan.reboot else f"{changing}; no reboot"
