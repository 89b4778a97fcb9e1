"""Checks: is it true on the host? `pytest checks --inventory=inventories/minipc.py`.

All hosts are read at once, in one round trip each, before the first check runs. Every check then
asks for one verdict of one host, so that it has a name, a message and an exit status.
"""

import json
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from apuhost import evidence, gather, inventory, last_report, report
from apuhost.errors import ApuhostError
from apuhost.gather import Unreachable
from apuhost.host_facts import HostFacts
from apuhost.round_trip import ACTIVE_PROBES, PROBES
from apuhost.verdicts import Severity, Status
from apuhost.verdicts.boot import seen
from apuhost.verdicts.host import HostReport
from apuhost.verdicts.host import report as judge
from apuhost.verdicts.waivers import day_of

REPORTS = pytest.StashKey[tuple[HostReport, ...]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    try:
        reports = _reports(config)
    except ApuhostError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[REPORTS] = reports
    if config.option.verdicts:
        config.option.verdicts.write_text(json.dumps(report.as_json(reports)))
        # Every check of every host, 12600 for 300 of them, would only repeat what stands there.
        pytest.exit("the verdicts are written", returncode=0)


def _reports(config: pytest.Config) -> tuple[HostReport, ...]:
    if config.option.saved:
        saved = evidence.load(config.option.saved, config.option.limit)
        return tuple(
            # The day on which they were read: the same verdicts whenever they are judged.
            judge(name, settings, facts, day_of(facts))
            for name, (settings, facts) in saved.items()
        )
    if not config.option.inventory:
        raise inventory.InventoryError("which hosts? --inventory FILE, or --from DIR")
    hosts = inventory.load(config.option.inventory, config.option.limit)
    settings = inventory.settings(config.option.inventory, hosts)
    probes = (*PROBES, *ACTIVE_PROBES) if config.option.active else PROBES
    facts = {
        name: _after_last(config.option.last_reports, found)
        for name, found in gather.gather(hosts, probes).items()
    }
    if config.option.seen:
        config.option.seen.write_text(json.dumps(_seen(facts.values())))
    today = date.today()
    return tuple(judge(host.name, settings[host.name], facts[host.name], today) for host in hosts)


def _after_last(folder: Path | None, found: HostFacts | Unreachable) -> HostFacts | Unreachable:
    if folder is None or isinstance(found, Unreachable):
        return found
    return replace(found, last=last_report.load(folder, found.host))


def _seen(found: Iterable[HostFacts | Unreachable]) -> dict[str, object]:
    return {
        facts.host: last_report.as_json(seen(facts))
        for facts in found
        if not isinstance(facts, Unreachable)
    }


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    reports = metafunc.config.stash.get(REPORTS, ())
    metafunc.parametrize("host_report", reports, ids=lambda found: found.host)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Forget how checks were set up and torn down.

    For each one that failed pytest looks through all of these, for what a teardown printed: of 300
    hosts that are not reached they are 25200, looked through 12600 times. No check has a teardown.
    """
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        terminal.stats.pop("", None)


@pytest.fixture
def holds(host_report: HostReport) -> Callable[[str], None]:
    """Ask for one verdict: it passes, or the check fails (or skips) with what it says."""

    def ask(verdict_id: str) -> None:
        if host_report.unreachable:
            pytest.fail(report.visible(f"not reached: {host_report.unreachable}"), pytrace=False)
        found = next((v for v in host_report.verdicts if v.id == verdict_id), None)
        if found is None:
            pytest.skip(f"{verdict_id} is not asked of this host")  # no such role, or not --active
        lines = "\n".join(report.verdict_lines(found, host_report.host, "INVENTORY"))
        if found.status is Status.SKIP:
            pytest.skip(report.visible(found.reason))
        warned = found.status is Status.FAIL and found.severity is Severity.RECOMMENDED
        if warned or found.status is Status.WAIVED:
            pytest.xfail(lines)  # worth a word, no failure of the host
        if found.status is not Status.PASS:
            pytest.fail(lines, pytrace=False)
        if found.reason:
            warnings.warn(lines, stacklevel=2)

    return ask
