"""`apuhost verify`: judges hosts and prints what was found."""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from apuhost import evidence, judging, last_report, report
from apuhost.commands import output, terminal
from apuhost.errors import ApuhostError
from apuhost.judging import Judged
from apuhost.last_report import LastReportError
from apuhost.verdicts.host import HostReport

FORMS: Mapping[str, Callable[[Sequence[HostReport]], str]] = {
    "json": lambda found: json.dumps(report.as_json(found), indent=2) + "\n",
    "junit": report.junit,
    "metrics": lambda found: report.metrics(found, time.time()),
}
"""What `verify` writes beside its table, by the option that names the file."""


class VerifyError(ApuhostError):
    """Nothing to verify, or two things at once."""


@dataclass(frozen=True)
class Asked:
    """What is judged: the hosts of an inventory, perhaps with work for them, or saved facts."""

    path: Path | None = None
    limits: Sequence[str] = ()
    saved: Path | None = None
    active: bool = False


@dataclass(frozen=True)
class Seen:
    """What was shown: its exit status, the hosts that failed or did not answer, and the good ones.

    The others have a required verdict that is unknown.
    """

    status: int
    failed: tuple[str, ...]
    good: tuple[str, ...]


def run(asked: Asked, outputs: Mapping[str, str], *, every: bool) -> int:
    """Exit status as in report.exit_status; `outputs` as for show."""
    return judge(asked, outputs, every=every).status


def judge(asked: Asked, outputs: Mapping[str, str], *, every: bool) -> Seen:
    """Judge and show, and remember it; `outputs` as for show.

    Raises:
        VerifyError: nothing to judge, or two things at once.
    """
    if asked.path is None and asked.saved is None:
        raise VerifyError("verify what? give an INVENTORY, or --from DIR")
    if asked.path is not None and asked.saved is not None:
        both = f"verify {asked.path}, or what is saved in {asked.saved}"
        raise VerifyError(f"{both}? give one of them")
    if asked.saved is not None and asked.active:
        raise VerifyError("--active lets the hosts work, --from asks none: give one of them")
    if asked.path is not None and asked.path.is_dir() and evidence.hosts_below(asked.path):
        raise VerifyError(f"{asked.path} is a folder of saved facts: verify --from {asked.path}")
    output.check(outputs)
    judged = _judged(asked)
    status = show(judged.reports, asked, outputs, every=every)
    found = {each.host: report.exit_status([each]) for each in judged.reports}
    away = {each.host for each in judged.reports if each.unreachable}
    return Seen(
        status if _remembered(asked, judged) else status or 2,
        failed=tuple(host for host in found if host in away or found[host] == 1),
        good=tuple(host for host in found if found[host] == 0),
    )


def show(
    found: Sequence[HostReport], asked: Asked, outputs: Mapping[str, str], *, every: bool
) -> int:
    """Print what was found and write its other forms. Returns the exit status.

    Args:
        found: the reports.
        asked: what was judged; its inventory and limits come back in what to type.
        outputs: the file for each other form, by its word in FORMS; "-" is stdout, kept pure.
        every: print what is good, too.
    """
    if output.STDOUT not in outputs.values():
        shown = str(asked.path or "INVENTORY")
        lines = report.verify_lines(found, shown, asked.limits, terminal.width(), every=every)
        print("\n".join(terminal.painted(lines)))
    unwritten = output.write({file: FORMS[form](found) for form, file in outputs.items()})
    for problem in (*unwritten, *_uncollected(outputs)):
        print(report.visible(problem), file=sys.stderr)
    status = report.exit_status(found)
    return status or (2 if unwritten else 0)


def _uncollected(outputs: Mapping[str, str]) -> list[str]:
    """That metrics were written where node_exporter does not look for any."""
    file = outputs.get("metrics", "")
    if file.endswith(".prom") or not Path(file).is_file():  # a pipe has a reader of its own
        return []
    return [f"--metrics {file}: node_exporter's textfile collector reads *.prom alone"]


def reports(asked: Asked) -> tuple[HostReport, ...]:
    """What is found.

    Raises:
        ApuhostError: settings that cannot be right, or facts that cannot be read.
    """
    return _judged(asked).reports


def _remembered(asked: Asked, judged: Judged) -> bool:
    """Keep what the next report compares with, now that somebody has read this one."""
    try:
        for host, seen in judged.seen.items():
            last_report.save(last_report.folder(asked.path or Path()), host, seen)
    except LastReportError as error:
        print(report.visible(str(error)), file=sys.stderr)
        return False
    return True


def _judged(asked: Asked) -> Judged:
    if asked.path is not None:
        return judging.asked(asked.path, asked.limits, active=asked.active)
    return judging.saved(asked.saved or Path(), asked.limits)
