"""Saved facts read again: a folder's hosts, or a boot as a host saved it."""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from apuhost import ranges, saved_boot
from apuhost.errors import ApuhostError
from apuhost.evidence import files, index
from apuhost.evidence.files import ClosedError, EvidenceError
from apuhost.evidence.index import INDEX
from apuhost.host_facts import HostFacts
from apuhost.probes import ParseError, boots
from apuhost.round_trip import PROBES, SAVED_PROBES, Reading
from apuhost.settings import Settings, resolve

Saved = tuple[Settings, HostFacts]

_GIVE = "give the folder that apuhost facts INVENTORY -o DIR saves, or a boot that a host saved"

FEW = 2
"""Files of these names may lie anywhere."""


@dataclass(frozen=True)
class Loaded:
    """Saved hosts by name; `closed`: those whose folder tells nothing, by its name, and why."""

    hosts: Mapping[str, Saved]
    closed: Mapping[str, str] = field(default_factory=dict)


def load(folder: Path, limits: Iterable[str] = ()) -> Loaded:
    """Every host's settings and facts under `folder`, cut to `limits` (patterns of names).

    The folder of one host will do, too, and so will a boot's facts as a host saved them. A probe's
    file that cannot be read is a reading that is not there, with the reason.

    Raises:
        EvidenceError: no facts there, what may not be read, a host's index or a saved boot that
            cannot be right, a limit that matches nothing.
    """
    try:
        is_folder = stat.S_ISDIR(folder.stat().st_mode)
        found = _load_hosts(folder) if is_folder else Loaded(dict([_load_boot(folder)]))
    except OSError as error:
        raise EvidenceError(f"{error.filename or folder}: {error.strerror}") from error
    return _limited(found, tuple(limits))


def hosts_below(folder: Path) -> list[Path]:
    """The folders that hold a host's facts: this one, or those in it.

    Raises:
        OSError: it cannot be looked into.
    """
    if _holds_facts(folder):
        return [folder]
    return sorted(each for each in folder.iterdir() if each.name[0] != "." and _holds_facts(each))


def _holds_facts(folder: Path) -> bool:
    """Whether a host's facts are there, whole or not; what may not be looked into may be some."""
    try:
        (folder / INDEX).lstat()
    except FileNotFoundError:
        return len(_files(folder)) > FEW
    except NotADirectoryError:
        return False
    except OSError:
        return True
    return True


def _files(folder: Path) -> list[str]:
    names = [f"{name}.txt" for name in (*PROBES, *SAVED_PROBES)]
    return [name for name in names if os.path.lexists(folder / name)]


def _load_hosts(folder: Path) -> Loaded:
    saved, closed = [], {}
    for host in hosts_below(folder) or _none(folder):
        try:
            saved.append(_load_host(host))
        except ClosedError as error:
            if host == folder:
                raise
            closed[unquote(host.name)] = str(error)
    for name, count in Counter([*(name for name, _ in saved), *closed]).items():
        if count > 1:
            raise EvidenceError(f"{folder}: {count} folders hold facts of {name}: keep one of them")
    return Loaded(dict(saved), closed)


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


def _limited(found: Loaded, limits: tuple[str, ...]) -> Loaded:
    known = [*found.hosts, *found.closed]
    for limit in limits:
        if not any(_matches(name, limit) for name in known):
            raise EvidenceError(f"--limit {limit} matches no host; there are: {', '.join(known)}")
    wanted = {name for name in known if any(_matches(name, limit) for limit in limits or ("*",))}
    return Loaded(
        {name: saved for name, saved in found.hosts.items() if name in wanted},
        {name: why for name, why in found.closed.items() if name in wanted},
    )


def _matches(name: str, limit: str) -> bool:
    return name == limit or ranges.matches(name, limit)


def _load_host(folder: Path) -> tuple[str, Saved]:
    path = folder / INDEX
    if not os.path.lexists(path) and (found := _files(folder)):
        raise ClosedError(
            f"{folder}: {len(found)} files of a host's facts, but no {INDEX}, which names the host:"
            " give a folder as apuhost facts INVENTORY -o DIR saves it, whole"
        )
    try:
        told = index.parse(files.text(path))
    except ClosedError as error:
        raise ClosedError(f"{path}: {error}") from error
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
    if file.name in {INDEX, *_files(file.parent)}:
        raise EvidenceError(f"{file} is one file of a host's facts: give its folder, {file.parent}")
    try:
        raw = files.content(file)
    except EvidenceError as error:
        raise EvidenceError(f"{file}: {error}: {_GIVE}") from error
    if not raw.startswith(boots.MAGIC):
        raise EvidenceError(f"{file}: no saved facts: {_GIVE}")
    try:
        facts = saved_boot.read(boots.opened(raw), "")
        host, told = saved_boot.settings_in(facts)
        beside = [each for each in file.parent.glob("*-*.gz") if not files.fault(each)]
        kept = boots.listed(beside, file.name.removesuffix(".gz"))
    except ApuhostError as error:
        raise EvidenceError(f"{file}: not readable as a saved boot ({error})") from error
    except OSError as error:
        raise EvidenceError(f"{error.filename or file}: {error.strerror}") from error
    readings = {**facts.readings, "boots": Reading(kept, 0)}
    return host, (_settings(file, host, told), replace(facts, host=host, readings=readings))
