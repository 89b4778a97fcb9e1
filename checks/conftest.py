"""Checks: is it true on the host? `pytest checks --inventory=inventories/minipc.py`.

All hosts are read at once, in one round trip each, before the first check runs. Every check then
asks for one verdict of one host, so that it has a name, a message and an exit status.
"""

import warnings
from argparse import Namespace
from collections.abc import Callable

import pytest

from apuhost import judging, report, signals
from apuhost.errors import ApuhostError
from apuhost.verdicts import Severity, Status
from apuhost.verdicts.host import HostReport

REPORTS = pytest.StashKey[tuple[HostReport, ...]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    try:
        with signals.unwinding():
            session.config.stash[REPORTS] = _reports(session.config.option)
    except ApuhostError as error:
        said = "\n".join(map(report.visible, str(error).split("\n")))
        raise pytest.UsageError(said) from error


def _reports(option: Namespace) -> tuple[HostReport, ...]:
    if option.saved:
        return judging.saved(option.saved, option.limit).reports
    if option.inventory:
        return judging.asked(option.inventory, option.limit, active=option.active).reports
    raise pytest.UsageError("which hosts? --inventory=FILE, or --from=DIR")


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
