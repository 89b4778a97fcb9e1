"""The verdicts of all hosts: one host's table, or what many hosts have in common."""

from collections import Counter
from collections.abc import Sequence

from apuhost.report.causes import cause_lines, damage_lines, unreached_lines
from apuhost.report.matrix import matrix_lines
from apuhost.report.outcome import exit_status
from apuhost.report.table import host_lines
from apuhost.report.text import WIDTH
from apuhost.verdicts.host import HostReport


def verify_lines(
    reports: Sequence[HostReport],
    inventory: str,
    limits: Sequence[str] = (),
    width: int = WIDTH,
    *,
    every: bool,
) -> list[str]:
    """One host: its table. Many: matrix, causes, hosts not read; `every`: each table, too.

    Args:
        reports: one for each host that was asked for.
        inventory: its path, as it is typed behind a command.
        limits: the hosts and groups that were asked for, none for all.
        width: of a line, in columns.
        every: also what is good.
    """
    if len(reports) == 1:
        return host_lines(reports[0], inventory, width, every=every)
    tables = (
        [host_lines(report, inventory, width, every=True) for report in reports] if every else []
    )
    reached = [report for report in reports if not report.unreachable]
    parts = [
        *tables,
        matrix_lines(reached, width),
        cause_lines(reached, inventory, limits if len(reached) == len(reports) else None, width),
        damage_lines(reports, width),
        unreached_lines(reports, width),
        [_total(reports)] if reports else [],
    ]
    return [line for part in parts if part for line in (*part, "")][:-1]


def _total(reports: Sequence[HostReport]) -> str:
    """`95 of 100 hosts good, 2 failed, 3 not reached`."""
    away = sum(bool(report.unreachable) for report in reports)
    found = Counter(exit_status([report]) for report in reports if not report.unreachable)
    counts = {"failed": found[1], "unknown": found[2], "not reached": away}
    said = [f"{count} {name}" for name, count in counts.items() if count]
    return ", ".join([f"{found[0]} of {len(reports)} hosts good", *said])
