"""`apuhost plan`: what would change, and what is refused."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from apuhost import inventory, ranges, report
from apuhost.changes import HostPlan
from apuhost.changes.host import plan as plan_host
from apuhost.commands import terminal
from apuhost.derived import derive
from apuhost.gather import Unreachable, gather
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.settings import Settings
from apuhost.verdicts.refusals import refusals

DEEPER = "  "
LONGEST_HEAD = 40
"""Names in as many columns leave room for a sentence beside them."""


@dataclass(frozen=True)
class Planned:
    """One host: its plan, or why there is none; `serves`: it is a mirror for others."""

    host: str
    plan: HostPlan | None = None
    refused: tuple[str, ...] = ()
    unreachable: str = ""
    serves: bool = False


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
    """Print the plans, a block for all hosts that have the same."""
    for each, hosts in _once(planned):
        for line in _lines(each, hosts, every=every):
            print(line)


def _once(planned: Iterable[Planned]) -> list[tuple[Planned, list[str]]]:
    """Each plan once, with the names of all its hosts; in the order of the first ones."""
    alike: list[tuple[Planned, list[str]]] = []
    for each in planned:
        nameless = replace(each, host="", serves=False)
        names = next((names for plan, names in alike if plan == nameless), None)
        if names is None:
            alike.append((nameless, [each.host]))
        else:
            names.append(each.host)
    return alike


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
        found = None if refused else plan_host(settings, facts)
        return Planned(host, found, refused, serves=settings.mirror.mirror_serve)
    except Unreadable as error:
        return Planned(host, refused=(f"cannot be judged: {error}",))


def _lines(planned: Planned, hosts: Sequence[str], *, every: bool) -> list[str]:
    width = terminal.width()
    above, name = _head(hosts, width)
    if planned.unreachable:
        told = report.wrapped(f"{name}  not reached: ", planned.unreachable, width, DEEPER)
    elif planned.plan is None:
        refused = [
            report.wrapped(f"{name}  refused: ", why, width, DEEPER) for why in planned.refused
        ]
        told = [*(line for lines in refused for line in lines), f"{name}  nothing will be touched"]
    else:
        told = report.plan_lines(name, planned.plan, width, every=every)
    return [*above, *told]


def _head(hosts: Sequence[str], width: int) -> tuple[list[str], str]:
    """What a line begins with: the hosts' names, or how many they are, with the names above."""
    names = report.visible(" ".join(ranges.folded(hosts)))
    if len(hosts) == 1 or len(names) <= LONGEST_HEAD:
        return [], names
    return report.wrapped("", names, width, ""), f"{len(hosts)} hosts"
