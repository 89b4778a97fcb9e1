"""What this controller saw when it last reported on a host: a small file each, beside its state.

The next report tells by it what is new.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from apuhost import places
from apuhost.errors import ApuhostError

DIGITS = 8


class LastReportError(ApuhostError):
    """What was seen cannot be kept."""


@dataclass(frozen=True)
class LastReport:
    """When the facts were gathered (RFC 3339), versions by what they are of, boots' saved times.

    `damage` says why it cannot be read; the next report writes it anew.
    """

    gathered: str
    versions: Mapping[str, str] = field(default_factory=dict)
    boots: Mapping[str, int] = field(default_factory=dict)
    damage: str = ""

    @property
    def day(self) -> str:
        """The day on which the facts were gathered."""
        return self.gathered[:10]

    def after(self, before: "LastReport | None") -> "LastReport":
        """This one, with the versions that only the one before could tell."""
        known = before.versions if before else {}
        return replace(self, versions={**known, **self.versions})


def folder(inventory: Path) -> Path:
    """Where the reports of an inventory's hosts are: two inventories may name two hosts alike."""
    path = inventory.resolve()
    digits = sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:DIGITS]
    return places.records() / "reports" / f"{quote(path.stem, safe='')}-{digits}"


def load(reports: Path, host: str) -> LastReport | None:
    """What was seen of a host, None where nothing was."""
    path = _path(reports, host)
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return from_json(told)
    except FileNotFoundError:
        return None
    except OSError as error:
        return LastReport("", damage=f"{path}: {error.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return LastReport("", damage=f"{path}: not readable ({error})")


def from_json(told: Mapping[str, object]) -> LastReport:
    """What as_json gave.

    Raises:
        KeyError, TypeError, ValueError: it is something else.
    """
    versions, boots = told["versions"], told["boots"]
    if not isinstance(versions, dict) or not isinstance(boots, dict):
        raise TypeError("no report of apuhost's")
    return LastReport(
        str(told["gathered"]),
        {str(name): str(version) for name, version in versions.items()},
        {str(boot_id): int(at) for boot_id, at in boots.items()},
    )


def as_json(report: LastReport) -> dict[str, object]:
    """The report in JSON's types."""
    return {name: value for name, value in asdict(report).items() if name != "damage"}


def save(reports: Path, host: str, report: LastReport) -> None:
    """Keep what was seen of a host, whole or not at all, for this user alone.

    Raises:
        LastReportError: it cannot be written.
    """
    path = _path(reports, host)
    text = json.dumps(as_json(report.after(load(reports, host))), indent=1) + "\n"
    try:
        places.keep(path, text)
    except OSError as error:
        said = f"{path}: {error.strerror}"
        raise LastReportError(f"{said}: the next report will not tell what is new") from error


def _path(reports: Path, host: str) -> Path:
    return reports / f"{quote(host, safe='@')}.json"
