"""`apuhost deploy`: plan, ask, apply, reboot where needed, verify in a new process."""

import sys
from collections.abc import Sequence
from pathlib import Path

from apuhost import engines, report
from apuhost.commands import plan, terminal, verify
from apuhost.commands.plan import Planned
from apuhost.commands.verify import Asked


def run(path: Path, limits: Sequence[str], *, yes: bool) -> int:
    """Exit status: 1 when a host failed or is refused, else 2 when one was not reached, else 0."""
    planned = plan.plans(path, limits)
    plan.show(planned, every=False)
    ready = [each for each in planned if each.plan is not None]
    if not ready or not (yes or _agreed(ready)):
        return plan.exit_status(planned)
    print("\napplying", flush=True)
    applied = engines.apply(path, [each.host for each in ready], _say)
    if not applied.failed:
        print(f"{applied.changed or 'no'} operations changed something\n", flush=True)
    return _worst(plan.exit_status(planned), _after(path, ready, applied))


def _say(line: str) -> None:
    print(f"  {report.visible(line)}", flush=True)


def _after(path: Path, ready: Sequence[Planned], applied: engines.Applied) -> int:
    for host in applied.failed:
        print(f"{host}  failed: see above; run it again when the cause is gone", file=sys.stderr)
    waiting = [each for each in ready if each.host == "@local" and each.plan and each.plan.reboot]
    if waiting and "@local" not in applied.failed:
        print(f"@local  everything is written: reboot now, then: apuhost verify {path}")
    judged = [
        each.host for each in ready if each not in waiting and each.host not in applied.failed
    ]
    verified = verify.run(Asked(path, judged, active=True), {}, every=False) if judged else 0
    return 1 if applied.failed else verified


def _agreed(ready: Sequence[Planned]) -> bool:
    if all(each.plan is None or each.plan.empty for each in ready):
        return True
    reboots = sum(bool(each.plan and each.plan.reboot) for each in ready)
    return terminal.agreed(f"\nApply to {len(ready)} host(s), rebooting {reboots}?")


def _worst(*statuses: int) -> int:
    """A failure (1) outweighs what is not known (2)."""
    return 1 if 1 in statuses else max(statuses)
