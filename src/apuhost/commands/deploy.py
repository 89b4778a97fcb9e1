"""`apuhost deploy`: plan, ask, apply, reboot where needed, verify in a new process."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from apuhost import engines, ranges, report
from apuhost.commands import plan, terminal, verify
from apuhost.commands.pace import Pace
from apuhost.commands.plan import Planned
from apuhost.commands.verify import Asked

AT_ONCE = Pace()


@dataclass(frozen=True)
class Outcome:
    """What became of a batch: its exit status, the hosts that failed, and those that are good."""

    status: int
    failed: tuple[str, ...]
    good: tuple[str, ...]


def run(path: Path, limits: Sequence[str], pace: Pace = AT_ONCE, *, yes: bool) -> int:
    """Exit status: 1 when a host failed or is refused, else 2 when one was not reached, else 0."""
    planned = plan.plans(path, limits)
    plan.show(planned, every=False)
    ready = [each for each in planned if each.plan is not None]
    if not ready or not (yes or _agreed(ready)):
        return plan.exit_status(planned)
    # A mirror is there before those that take from it, whatever the order of the inventory.
    batches = pace.batches(sorted(ready, key=lambda each: not each.serves))
    return _worst(plan.exit_status(planned), _deploy(path, batches, pace))


def _deploy(path: Path, batches: Sequence[Sequence[Planned]], pace: Pace) -> int:
    """One batch after the other, while not too many hosts have failed; each is told of."""
    if len(batches) == 1:
        return _batch(path, batches[0]).status
    done: list[Outcome] = []
    for number, batch in enumerate(batches, 1):
        rest = [each for later in batches[number:] for each in later]
        print(f"\nbatch {number} of {len(batches)}: {_names(batch)}", flush=True)
        done.append(_told_if_cut_off(path, batch, rest))
        failed = sum(len(each.failed) for each in done)
        if rest and pace.reached(failed):
            said = f"{failed} failed (--max-failures {pace.failures}): no further batch begins"
            print(f"\n{said}\nnot begun: {_names(rest)}", file=sys.stderr, flush=True)
            break
    _total(batches, done)
    return _worst(*(each.status for each in done))


def _total(batches: Sequence[Sequence[Planned]], done: Sequence[Outcome]) -> None:
    """How many hosts are good, and which of those begun are not, or are not known to be."""
    failed = [host for each in done for host in each.failed]
    good = [host for each in done for host in each.good]
    begun = [each.host for batch in batches[: len(done)] for each in batch]
    unknown = [host for host in begun if host not in {*failed, *good}]
    print(f"\n{len(good)} of {sum(map(len, batches))} hosts deployed and good", flush=True)
    for what, hosts in (("failed", failed), ("not known", unknown)):
        if hosts:
            print(f"{what}: {_folded(hosts)}", file=sys.stderr)


def _told_if_cut_off(path: Path, batch: Sequence[Planned], rest: Sequence[Planned]) -> Outcome:
    """A batch; where it is cut off, by Ctrl-C for one, what is half done and what never began."""
    try:
        return _batch(path, batch)
    except BaseException:
        print(f"\ncut off, perhaps half done: {_names(batch)}", file=sys.stderr)
        if rest:
            print(f"not begun: {_names(rest)}", file=sys.stderr, flush=True)
        raise


def _batch(path: Path, ready: Sequence[Planned]) -> Outcome:
    """Apply to these hosts together, then judge those on which no operation failed."""
    print("\napplying", flush=True)
    applied = engines.apply(path, [each.host for each in ready], _say)
    if not applied.failed:
        print(f"{applied.changed or 'no'} operations changed something\n", flush=True)
    return _after(path, ready, applied)


def _say(line: str) -> None:
    print(f"  {report.visible(line)}", flush=True)


def _after(path: Path, ready: Sequence[Planned], applied: engines.Applied) -> Outcome:
    for host in ranges.folded(applied.failed):
        said = f"{report.visible(host)}  failed: see above; run it again when the cause is gone"
        print(said, file=sys.stderr)
    waiting = [each for each in ready if each.host == "@local" and each.plan and each.plan.reboot]
    if waiting and "@local" not in applied.failed:
        print(f"@local  everything is written: reboot now, then: apuhost verify {path}")
    judged = [
        each.host for each in ready if each not in waiting and each.host not in applied.failed
    ]
    if not judged:
        return Outcome(1 if applied.failed else 0, applied.failed, ())
    seen = verify.judge(Asked(path, judged, active=True), {}, every=False)
    status = 1 if applied.failed else seen.status
    return Outcome(status, (*applied.failed, *seen.failed), seen.good)


def _agreed(ready: Sequence[Planned]) -> bool:
    if all(each.plan is None or each.plan.empty for each in ready):
        return True
    reboots = sum(bool(each.plan and each.plan.reboot) for each in ready)
    return terminal.agreed(f"\nApply to {len(ready)} host(s), rebooting {reboots}?")


def _names(planned: Iterable[Planned]) -> str:
    return _folded(each.host for each in planned)


def _folded(hosts: Iterable[str]) -> str:
    return " ".join(map(report.visible, ranges.folded(hosts)))


def _worst(*statuses: int) -> int:
    """A failure (1) outweighs what is not known (2)."""
    return 1 if 1 in statuses else max(statuses)
