"""The newest serial that this controller saw of the bundles for one target.

An old bundle is rightly signed, too, and has the faults that newer ones mended. So it is refused,
unless somebody gives the reason, which is kept.
"""

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from pydantic import ConfigDict, TypeAdapter, ValidationError

from apuhost import places
from apuhost.bundle.item import BundleError
from apuhost.bundle.refusal import RefusedError
from apuhost.lockfile import Lock, Target


@dataclass(frozen=True)
class Accepted:
    """An older serial that was let in: when (RFC 3339), and why."""

    serial: int
    at: str
    reason: str


@dataclass(frozen=True)
class Newest:
    """The newest serial, when its lock was made, and every older one that was let in after it."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    serial: int
    created: str
    accepted: tuple[Accepted, ...] = ()


_NEWEST = TypeAdapter(Newest)


def record(target: Target) -> Path:
    """The file for a target's bundles."""
    names = (target.distribution, target.suite, target.architecture)
    return places.records() / "bundles" / f"{'-'.join(quote(each, safe='') for each in names)}.json"


def settle(lock: Lock, reason: str = "") -> None:
    """Keep the serial where it is the newest; an older one needs a `reason`, which is kept.

    Raises:
        RefusedError: an older one, and no reason.
        BundleError: the record cannot be read or written.
    """
    path = record(lock.target)
    known = _load(path)
    newest = after(known, lock, reason.strip(), datetime.now(UTC))
    if newest == known:
        return
    try:
        places.keep(path, json.dumps(asdict(newest), indent=1) + "\n")
    except OSError as error:
        raise BundleError(f"{error.filename or path}: {error.strerror}") from error


def after(known: Newest | None, lock: Lock, reason: str, now: datetime) -> Newest:
    """The record once this lock's bundle is let in.

    Raises:
        RefusedError: it is older than the newest, and no reason is given.
    """
    if known is None:
        return Newest(lock.serial, lock.created)
    if lock.serial >= known.serial:
        return replace(known, serial=lock.serial, created=lock.created)
    if not reason:
        raise RefusedError(
            f"serial {lock.serial} of {lock.created} is older than {known.serial} of"
            f" {known.created}, which was here: take the newer bundle, or give a reason"
        )
    let_in = Accepted(lock.serial, now.isoformat(timespec="seconds"), reason)
    return replace(known, accepted=(*known.accepted, let_in))


def _load(path: Path) -> Newest | None:
    try:
        return _NEWEST.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BundleError(f"{path}: {error.strerror}") from error
    except ValidationError as error:
        said = "no record of the newest bundle's serial: look into it, remove it to begin anew"
        raise BundleError(f"{path}: {said}") from error
