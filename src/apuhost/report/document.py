"""The machine-readable report; docs/verify.schema.json is its JSON Schema."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from apuhost.report.outcome import exit_status
from apuhost.verdicts import Status
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
