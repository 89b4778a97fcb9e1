"""`apuhost verify`: runs the checks in a new process and prints what they found."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from apuhost import engines, inventory, report
from apuhost.errors import ApuhostError
from apuhost.verdicts.host import HostReport


class VerifyError(ApuhostError):
    """Nothing to verify, or the checks left no verdicts."""


def run(
    path: Path | None,
    limits: Sequence[str],
    saved: Path | None,
    json_file: str | None,
    *,
    every: bool,
) -> int:
    """Exit status as in report.exit_status; `json_file` "-" keeps stdout pure JSON."""
    if (path is None) == (saved is None):
        raise VerifyError("verify what? give an INVENTORY, or --from DIR")
    reports = _checked(path, limits, saved)
    if json_file:
        _write(json_file, reports)
    if json_file != "-":
        source = str(path) if path else "INVENTORY"
        print("\n".join(report.verify_lines(reports, source, every=every)))
    return report.exit_status(reports)


def _checked(
    path: Path | None, limits: Sequence[str], saved: Path | None
) -> tuple[HostReport, ...]:
    if path is not None:
        # Settings are judged here, where every problem keeps its own line; the checks come after.
        inventory.settings(path, inventory.load(path, limits))
    with TemporaryDirectory() as folder:
        verdicts = Path(folder) / "verdicts.json"
        source = (
            ["--from", str(saved.resolve())]
            if saved
            else ["--inventory", str((path or Path()).resolve())]
        )
        limited = [part for limit in limits for part in ("--limit", limit)]
        engines.check(*source, *limited, "--verdicts", str(verdicts))
        try:
            return report.from_json(verdicts.read_text())
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise VerifyError(f"the checks left no verdicts: {error}") from error


def _write(file: str, reports: Sequence[HostReport]) -> None:
    text = json.dumps(report.as_json(reports), indent=2) + "\n"
    if file == "-":
        sys.stdout.write(text)
        return
    try:
        Path(file).write_text(text)
    except OSError as error:
        raise VerifyError(f"{file}: {error.strerror}") from error
