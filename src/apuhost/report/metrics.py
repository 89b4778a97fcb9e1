"""Prometheus text for the node exporter's textfile collector.

Names and base units by prometheus.io/docs/practices/naming; every state of a verdict has a series,
as node_systemd_unit_state does it, so that none goes stale when the verdict changes.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version

from apuhost.report.outcome import exit_status
from apuhost.report.text import visible
from apuhost.verdicts import Status
from apuhost.verdicts.host import HostReport

DAY_S = 86400

Sample = tuple[Mapping[str, str], int]


def metrics(reports: Iterable[HostReport], now: float) -> str:
    """The exposition text; `now` is the time of the report in seconds since 1970."""
    seen = tuple(reports)
    families: tuple[tuple[str, str, Iterable[Sample]], ...] = (
        ("build_info", "Version of apuhost; always 1.", [({"version": version("apuhost")}, 1)]),
        ("report_timestamp_seconds", "When this report was made.", [({}, int(now))]),
        ("host_reached", "Whether the host could be read.", _reached(seen)),
        ("host_ok", "Whether apuhost verify exits 0 for the host.", _ok(seen)),
        ("verdict_state", "1 for the state that a verdict is in, 0 for the others.", _states(seen)),
        ("waiver_expiry_timestamp_seconds", "When a waiver in force ends.", _expiries(seen)),
    )
    return "".join(
        line for name, text, samples in families for line in _family(name, text, samples)
    )


def _family(name: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP apuhost_{name} {text}\n# TYPE apuhost_{name} gauge\n"
    for labels, value in samples:
        pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"apuhost_{name}{f'{{{pairs}}}' if pairs else ''} {value}\n"


def _escaped(value: str) -> str:
    """A label's value, as it is shown elsewhere; backslash and quote are escaped once more."""
    return visible(value).replace("\\", "\\\\").replace('"', '\\"')


def _reached(reports: Iterable[HostReport]) -> Iterator[Sample]:
    for report in reports:
        yield {"host": report.host}, int(not report.unreachable)


def _ok(reports: Iterable[HostReport]) -> Iterator[Sample]:
    for report in reports:
        yield {"host": report.host}, int(exit_status([report]) == 0)


def _states(reports: Iterable[HostReport]) -> Iterator[Sample]:
    for report in reports:
        for verdict in report.verdicts:
            for status in Status:
                labels = {
                    "host": report.host,
                    "verdict": verdict.id,
                    "severity": verdict.severity,
                    "state": status,
                }
                yield labels, int(verdict.status is status)


def _expiries(reports: Iterable[HostReport]) -> Iterator[Sample]:
    """The end, in UTC, of the last day on which a waiver counts."""
    for report in reports:
        for verdict in report.verdicts:
            if verdict.status is Status.WAIVED and verdict.until:
                last = datetime.fromisoformat(verdict.until).replace(tzinfo=UTC)
                labels = {"host": report.host, "verdict": verdict.id}
                yield labels, int(last.timestamp()) + DAY_S
