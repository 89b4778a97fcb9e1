"""`apuhost plan`: what would change, and what is refused."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from apuhost import inventory, report
from apuhost.changes import HostPlan
from apuhost.changes.host import plan as plan_host
from apuhost.commands import terminal
from apuhost.derived import derive
from apuhost.gather import Unreachable, gather
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.settings import Settings
from apuhost.verdicts.refusals import refusals

DEEPER = "  "


@dataclass(frozen=True)
class Planned:
    """One host: its plan, or why there is none."""

    host: str
    plan: HostPlan | None = None
    refused: tuple[str, ...] = ()
    unreachable: str = ""


def run(path: Path, limits: Sequence[str], *, every: bool) -> int:
    """Print every host's plan; 1 when a host is refused, else 2 when one is not reached.

    `every`: also each line of a long new file.
    """
    planned = plans(path, limits)
    show(planned, every=every)
    return exit_status(planned)


def plans(path: Path, limits: Sequence[str]) -> tuple[Planned, ...]:
    """Read all hosts at once and work out what each would need."""
    hosts = inventory.load(path, limits)
    settings = inventory.settings(path, hosts)
    facts = gather(hosts)
    return tuple(_plan(host.name, settings[host.name], facts[host.name]) for host in hosts)


def show(planned: Iterable[Planned], *, every: bool) -> None:
    """Print the plans, a block per host."""
    for each in planned:
        for line in _lines(each, every=every):
            print(line)


def exit_status(planned: Iterable[Planned]) -> int:
    """1: a host is refused; else 2: a host is not reached; else 0."""
    seen = tuple(planned)
    if any(each.refused for each in seen):
        return 1
    return 2 if any(each.unreachable for each in seen) else 0


def _plan(host: str, settings: Settings, facts: HostFacts | Unreachable) -> Planned:
    if isinstance(facts, Unreachable):
        return Planned(host, unreachable=str(facts))
    try:
        refused = refusals(settings, derive(settings, facts), facts)
        return Planned(host, None if refused else plan_host(settings, facts), refused)
    except Unreadable as error:
        return Planned(host, refused=(f"cannot be judged: {error}",))


def _lines(planned: Planned, *, every: bool) -> list[str]:
    width, name = terminal.width(), report.visible(planned.host)
    if planned.unreachable:
        return report.wrapped(f"{name}  not reached: ", planned.unreachable, width, DEEPER)
    if planned.plan is None:
        refused = [
            report.wrapped(f"{name}  refused: ", why, width, DEEPER) for why in planned.refused
        ]
        return [*(line for lines in refused for line in lines), f"{name}  nothing will be touched"]
    return report.plan_lines(planned.host, planned.plan, width, every=every)
