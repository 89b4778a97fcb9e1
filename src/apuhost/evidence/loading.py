"""Saved facts read again: a folder's hosts, or a boot as a host saved it."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from apuhost import saved_boot
from apuhost.errors import ApuhostError
from apuhost.evidence import files, index
from apuhost.evidence.files import EvidenceError
from apuhost.evidence.index import INDEX
from apuhost.host_facts import HostFacts
from apuhost.probes import ParseError, boots
from apuhost.round_trip import PROBES, SAVED_PROBES, Reading
from apuhost.settings import Settings, resolve

Saved = tuple[Settings, HostFacts]


def load(folder: Path, limits: Iterable[str] = ()) -> dict[str, Saved]:
    """Every host's settings and facts under `folder`, by host name, cut to `limits` (patterns).

    The folder of one host will do, too, and so will a boot's facts as a host saved them. A probe's
    file that cannot be read is a reading that is not there, with the reason.

    Raises:
        EvidenceError: no facts there, a host's index or a saved boot that cannot be read, a limit
            that matches nothing.
    """
    if folder.is_file():
        return _limited(dict([_load_boot(folder)]), tuple(limits))
    saved = [_load_host(host) for host in hosts_below(folder) or _none(folder)]
    for name, count in Counter(name for name, _ in saved).items():
        if count > 1:
            raise EvidenceError(f"{folder}: {count} folders hold facts of {name}: keep one of them")
    return _limited(dict(saved), tuple(limits))


def hosts_below(folder: Path) -> list[Path]:
    """The folders that hold a host's facts: this one, or those in it."""
    own = folder / INDEX
    indexes = [own] if own.exists() else sorted(folder.glob(f"[!.]*/{INDEX}"))
    return [each.parent for each in indexes]


def _none(folder: Path) -> list[Path]:
    """Why there is nothing to load.

    Raises:
        EvidenceError: always, with the folders below in which there is something.
    """
    deeper = sorted({each.parent.parent for each in folder.glob(f"[!.]*/[!.]*/{INDEX}")})
    if deeper:
        named = ", ".join(map(str, deeper))
        raise EvidenceError(f"{folder}: no facts in it, but in its folders: give one of {named}")
    raise EvidenceError(f"{folder}: no facts in it (apuhost facts INVENTORY -o DIR saves some)")


def _limited(found: dict[str, Saved], limits: tuple[str, ...]) -> dict[str, Saved]:
    for limit in limits:
        if not any(_matches(name, limit) for name in found):
            raise EvidenceError(f"--limit {limit} matches no host; there are: {', '.join(found)}")
    wanted = limits or ("*",)
    return {
        name: saved
        for name, saved in found.items()
        if any(_matches(name, limit) for limit in wanted)
    }


def _matches(name: str, limit: str) -> bool:
    return name == limit or fnmatch(name, limit)


def _load_host(folder: Path) -> tuple[str, Saved]:
    path = folder / INDEX
    try:
        told = index.parse(files.text(path))
    except (EvidenceError, ParseError) as error:
        raise EvidenceError(f"{path}: {error}") from error
    settings = _settings(path, told.host, told.settings)
    return told.host, (settings, _facts(folder, told))


def _settings(path: Path, host: str, data: Mapping[str, Any]) -> Settings:
    settings, problems = resolve(host, data)
    if settings is None:
        raise EvidenceError(f"{path}: {'; '.join(problem.sentence for problem in problems)}")
    return settings


def _facts(folder: Path, told: index.Index) -> HostFacts:
    readings, lost = {}, {}
    # Only known names become paths: a facts folder may come from anywhere.
    for name in (*PROBES, *SAVED_PROBES):
        file = folder / f"{name}.txt"
        if name not in told.status or not os.path.lexists(file):
            continue
        try:
            readings[name] = Reading(_as_saved(file, name, told), told.status[name])
        except EvidenceError as error:
            lost[name] = f"{file.name} {error}"
    return HostFacts(told.host, told.gathered, readings, saved=True, lost=lost)


def _as_saved(file: Path, name: str, told: index.Index) -> str:
    raw = files.content(file)
    if said := told.fault(name, raw):
        raise EvidenceError(said)
    return raw.decode("utf-8", "surrogateescape")


def _load_boot(file: Path) -> tuple[str, Saved]:
    if file.name == INDEX:
        raise EvidenceError(f"{file} is one file of a host's facts: give its folder, {file.parent}")
    try:
        facts = saved_boot.read(boots.opened(files.content(file)), "")
        host, told = saved_boot.settings_in(facts)
        beside = [each for each in file.parent.glob("*-*.gz") if not files.fault(each)]
        kept = boots.listed(beside, file.name.removesuffix(".gz"))
    except ApuhostError as error:
        raise EvidenceError(f"{file}: not readable as a saved boot ({error})") from error
    except OSError as error:
        raise EvidenceError(f"{error.filename or file}: {error.strerror}") from error
    readings = {**facts.readings, "boots": Reading(kept, 0)}
    return host, (_settings(file, host, told), replace(facts, host=host, readings=readings))
