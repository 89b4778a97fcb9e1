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
    if path is None and saved is None:
        raise VerifyError("verify what? give an INVENTORY, or --from DIR")
    if path is not None and saved is not None:
        raise VerifyError(f"verify {path}, or what is saved in {saved}? give one of them")
    found = reports(path, limits, saved)
    return show(found, str(path or "INVENTORY"), json_file, every=every)


def show(
    found: Sequence[HostReport], inventory_shown: str, json_file: str | None, *, every: bool
) -> int:
    """Print what was found, as JSON where that was asked. Returns the exit status."""
    if json_file:
        _write(json_file, found)
    if json_file != "-":
        print("\n".join(report.verify_lines(found, inventory_shown, every=every)))
    return report.exit_status(found)


def reports(path: Path | None, limits: Sequence[str], saved: Path | None) -> tuple[HostReport, ...]:
    """What the checks find, in a process of their own.

    Raises:
        ApuhostError: settings that cannot be right, or checks that could not run.
    """
    if path is not None:
        # Settings are judged here, where every problem keeps its own line; the checks come after.
        inventory.settings(path, inventory.load(path, limits))
    source = ("--from", saved) if saved else ("--inventory", path)
    limited = [part for limit in limits for part in ("--limit", limit)]
    with TemporaryDirectory() as folder:
        verdicts = Path(folder) / "verdicts.json"
        engines.check(
            source[0], str((source[1] or Path()).resolve()), *limited, "--verdicts", str(verdicts)
        )
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
