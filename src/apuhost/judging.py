"""Hosts judged: as they are now, each read in one round trip, or as somebody saved them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from apuhost import evidence, gather, inventory, last_report
from apuhost.gather import Unreachable
from apuhost.host_facts import HostFacts
from apuhost.last_report import LastReport
from apuhost.round_trip import ACTIVE_PROBES, PROBES
from apuhost.verdicts import boot
from apuhost.verdicts.host import HostReport, report
from apuhost.verdicts.waivers import day_of


@dataclass(frozen=True)
class Judged:
    """The reports, and of each host that was reached what the next report compares with."""

    reports: tuple[HostReport, ...]
    seen: Mapping[str, LastReport]


def saved(folder: Path, limits: Sequence[str]) -> Judged:
    """Judge by facts that were saved: as on their own day, so that the verdicts stay the same.

    Raises:
        ApuhostError: nothing is saved there, or nothing that the limits mean.
    """
    found = evidence.load(folder, limits)
    judged = [
        report(name, settings, facts, day_of(facts))
        for name, (settings, facts) in found.hosts.items()
    ]
    closed = [HostReport(name, "", (), why) for name, why in found.closed.items()]
    return Judged((*judged, *closed), {})


def asked(path: Path, limits: Sequence[str], *, active: bool) -> Judged:
    """Ask an inventory's hosts, all at once; `active` lets them work, too.

    Raises:
        ApuhostError: an inventory or settings that cannot be right.
    """
    hosts = inventory.load(path, limits)
    settings = inventory.settings(path, hosts)
    probes = (*PROBES, *ACTIVE_PROBES) if active else PROBES
    folder, today = last_report.folder(path), date.today()
    facts = {
        name: _after_last(folder, found) for name, found in gather.gather(hosts, probes).items()
    }
    return Judged(
        tuple(report(host.name, settings[host.name], facts[host.name], today) for host in hosts),
        {name: boot.seen(each) for name, each in facts.items() if isinstance(each, HostFacts)},
    )


def _after_last(folder: Path, found: HostFacts | Unreachable) -> HostFacts | Unreachable:
    if isinstance(found, Unreachable):
        return found
    return replace(found, last=last_report.load(folder, found.host))
