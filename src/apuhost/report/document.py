"""The machine-readable report; docs/verify.schema.json is its JSON Schema."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from apuhost.report.outcome import exit_status
from apuhost.verdicts import Layer, Severity, Status, Verdict
from apuhost.verdicts.host import HostReport

SCHEMA = 1


def as_json(reports: Iterable[HostReport]) -> dict[str, Any]:
    """The machine-readable report (docs/checks.md has its schema)."""
    seen = tuple(reports)
    failing = [
        f"{report.host} {verdict.id}"
        for report in seen
        for verdict in report.verdicts
        if verdict.status is Status.FAIL
    ]
    return {
        "schema": SCHEMA,
        "ok": exit_status(seen) == 0,
        "failures": failing,
        "hosts": [asdict(report) for report in seen],
    }


def from_json(text: str) -> tuple[HostReport, ...]:
    """The reports in as_json's text.

    Raises:
        ValueError, KeyError, TypeError: the text is no such report.
    """
    return tuple(_host_report(entry) for entry in json.loads(text)["hosts"])


def _host_report(entry: Mapping[str, Any]) -> HostReport:
    verdicts = tuple(_verdict(fields) for fields in entry["verdicts"])
    return HostReport(
        entry["host"], entry["header"], verdicts, entry["unreachable"], entry["damage"]
    )


def _verdict(fields: Mapping[str, Any]) -> Verdict:
    layer = fields["layer"]
    typed = {
        "status": Status(fields["status"]),
        "severity": Severity(fields["severity"]),
        "layer": None if layer is None else Layer(layer),
    }
    return Verdict(**{**fields, **typed})
