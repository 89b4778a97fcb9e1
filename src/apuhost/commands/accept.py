"""`apuhost bundle accept`: a host is cut off, rebooted, judged, and let out again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from apuhost import inventory, judging
from apuhost.bundle import accepting
from apuhost.bundle.accepting import AcceptError, Candidate
from apuhost.commands import terminal, verify
from apuhost.report import visible
from apuhost.verdicts import acceptance
from apuhost.verdicts.host import HostReport


@dataclass(frozen=True)
class Asked:
    """One host of an inventory, what it may still reach, and whether somebody said yes already."""

    inventory: Path
    limits: Sequence[str]
    allowed: Sequence[str]
    yes: bool


def run(asked: Asked, *, every: bool) -> int:
    """Cut off, reboot, judge, let out. Exit status as of verify."""
    allowed = accepting.networks(tuple(asked.allowed))
    hosts = inventory.load(asked.inventory, asked.limits)
    if len(hosts) != 1:
        raise AcceptError(f"{asked.inventory}: accept takes one host at a time: add --limit HOST")
    settings = inventory.settings(asked.inventory, hosts)
    found = accepting.candidate(hosts[0], settings[hosts[0].name], allowed)
    question = f"Cut {found.host.name} off from outside and reboot it?"
    if not (asked.yes or terminal.agreed(question)):
        return 0
    reports = _judged(asked, found)
    print()
    return verify.show(reports, verify.Asked(asked.inventory, asked.limits), {}, every=every)


def _judged(asked: Asked, found: Candidate) -> tuple[HostReport, ...]:
    def say(line: str) -> None:
        print(visible(f"{found.host.name}  {line}"), flush=True)

    with accepting.cut_off(found, say):
        accepting.reboot(found, say)
        said = accepting.packages(found)
        (report,) = judging.asked(asked.inventory, asked.limits, active=True).reports
        after = accepting.after(found)
    own = acceptance.verdicts(found.before, after, said)
    return (replace(report, verdicts=(*report.verdicts, *own)),)
