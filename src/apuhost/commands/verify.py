"""`apuhost verify`: runs the checks in a new process and prints what they found."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from apuhost import engines, inventory, report
from apuhost.errors import ApuhostError
from apuhost.verdicts.host import HostReport


class VerifyError(ApuhostError):
    """Nothing to verify, or the checks left no verdicts."""


@dataclass(frozen=True)
class Asked:
    """What is judged: the hosts of an inventory, perhaps with work for them, or saved facts."""

    path: Path | None = None
    limits: Sequence[str] = ()
    saved: Path | None = None
    active: bool = False


def run(asked: Asked, json_file: str | None, *, every: bool) -> int:
    """Exit status as in report.exit_status; `json_file` "-" keeps stdout pure JSON."""
    if asked.path is None and asked.saved is None:
        raise VerifyError("verify what? give an INVENTORY, or --from DIR")
    if asked.path is not None and asked.saved is not None:
        both = f"verify {asked.path}, or what is saved in {asked.saved}"
        raise VerifyError(f"{both}? give one of them")
    if asked.saved is not None and asked.active:
        raise VerifyError("--active lets the hosts work, --from asks none: give one of them")
    return show(reports(asked), str(asked.path or "INVENTORY"), json_file, every=every)


def show(
    found: Sequence[HostReport], inventory_shown: str, json_file: str | None, *, every: bool
) -> int:
    """Print what was found, as JSON where that was asked. Returns the exit status."""
    if json_file:
        _write(json_file, found)
    if json_file != "-":
        print("\n".join(report.verify_lines(found, inventory_shown, every=every)))
    return report.exit_status(found)


def reports(asked: Asked) -> tuple[HostReport, ...]:
    """What the checks find, in a process of their own.

    Raises:
        ApuhostError: settings that cannot be right, or checks that could not run.
    """
    if asked.path is not None:
        # Settings are judged here, where every problem keeps its own line; the checks come after.
        inventory.settings(asked.path, inventory.load(asked.path, asked.limits))
    source = ("--from", asked.saved) if asked.saved else ("--inventory", asked.path)
    options = [part for limit in asked.limits for part in ("--limit", limit)]
    options += ["--active"] if asked.active else []
    with TemporaryDirectory() as folder:
        verdicts = Path(folder) / "verdicts.json"
        engines.check(
            source[0], str((source[1] or Path()).resolve()), *options, "--verdicts", str(verdicts)
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
