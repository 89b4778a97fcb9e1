"""Facts on disk: raw probe output with versions and time, to be judged later or elsewhere.

A folder per host: `facts.json` (host, time, settings, each probe's exit status) beside one text
file per probe. Secrets are never saved: of the inventory only apuhost's own settings are, and
logins in what was read are made unreadable.
"""

import errno
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from apuhost import saved_boot
from apuhost.errors import ApuhostError
from apuhost.host_facts import HostFacts
from apuhost.inventory import Host
from apuhost.probes import boots
from apuhost.probes.secrets import without_boot_passwords, without_logins
from apuhost.round_trip import PROBES, Reading
from apuhost.settings import Settings, resolve, variables

INDEX = "facts.json"
# What a damaged or hostile index makes of reading it: wrong types, Infinity, endless nesting.
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)
MOST_BYTES = 64 * 1024 * 1024

Saved = tuple[Settings, HostFacts]


class EvidenceError(ApuhostError):
    """A facts folder is missing, cut or not apuhost's."""


def save(folder: Path, host: Host, facts: HostFacts) -> Path:
    """Write one host's facts under `folder`: whole or not at all. Returns where they are.

    Raises:
        EvidenceError: the folder cannot be written.
    """
    target = folder / _folder_name(host.name)
    try:
        _write(target, host, facts)
    except OSError as error:
        raise EvidenceError(f"{error.filename or target}: {error.strerror}") from error
    return target


def _write(target: Path, host: Host, facts: HostFacts) -> None:
    new, old = (target.with_name(f".{target.name}.{word}") for word in ("new", "old"))
    for folder in (target, new, old):
        _refuse_foreign(folder)
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True, mode=0o700)
    for name, reading in facts.readings.items():
        text = _without_secrets(name, reading.text)
        _write_private(new / f"{name}.txt", text.encode("utf-8", "surrogateescape"))
    index = json.dumps(_index(host, facts), indent=2, default=str) + "\n"
    _write_private(new / INDEX, without_logins(index).encode())
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _without_secrets(name: str, text: str) -> str:
    if name == "boots":
        return boots.rewritten(text, _hidden)
    return _hidden(text)


def _hidden(text: str) -> str:
    return without_logins(without_boot_passwords(text))


def _refuse_foreign(folder: Path) -> None:
    """A folder is replaced only if every file in it is one that `save` writes.

    Raises:
        EvidenceError: somebody else's folder, or somebody's notes beside the facts.
    """
    ours = {INDEX, *(f"{name}.txt" for name in PROBES)}
    if folder.exists() and not (
        folder.is_dir() and {path.name for path in folder.iterdir()} <= ours
    ):
        raise EvidenceError(f"{folder} holds other files than facts: choose another folder")


def _write_private(path: Path, raw: bytes) -> None:
    # What root reads on a host is not for every user of the controller.
    path.touch(mode=0o600)
    path.write_bytes(raw)


def _folder_name(host: str) -> str:
    # A name that begins with a dot would be hidden, or be the folder itself.
    name = quote(host, safe="@")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def load(folder: Path, limits: Iterable[str] = ()) -> dict[str, Saved]:
    """Every host's settings and facts under `folder`, by host name, cut to `limits` (patterns).

    The folder of one host will do, too, and so will a boot's facts as a host saved them.

    Raises:
        EvidenceError: no facts there, facts that cannot be read, a limit that matches nothing.
    """
    if folder.is_file():
        return _limited(dict([_load_boot(folder)]), tuple(limits))
    own = folder / INDEX
    indexes = [own] if own.exists() else sorted(folder.glob(f"[!.]*/{INDEX}"))
    if not indexes:
        raise EvidenceError(f"{folder}: no facts in it (apuhost facts INVENTORY -o DIR saves some)")
    saved = [_load_host(index) for index in indexes]
    for name, count in Counter(name for name, _ in saved).items():
        if count > 1:
            raise EvidenceError(f"{folder}: {count} folders hold facts of {name}: keep one of them")
    return _limited(dict(saved), tuple(limits))


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


def _index(host: Host, facts: HostFacts) -> dict[str, Any]:
    return {
        "host": host.name,
        "gathered": facts.gathered,
        "apuhost": version("apuhost"),
        "settings": {key: host.data[key] for key in variables() if key in host.data},
        "status": {name: reading.status for name, reading in facts.readings.items()},
    }


def _load_host(path: Path) -> tuple[str, Saved]:
    try:
        index = json.loads(_text(path))
        host, statuses = str(index["host"]), dict(index["status"])
        settings, problems = resolve(host, index["settings"])
        facts = HostFacts(host, str(index["gathered"]), _readings(path.parent, statuses))
    except (*_DAMAGE, OSError) as error:
        raise EvidenceError(f"{path}: not readable as facts ({error})") from error
    if settings is None:
        raise EvidenceError(f"{path}: {'; '.join(problem.sentence for problem in problems)}")
    return host, (settings, facts)


def _load_boot(file: Path) -> tuple[str, Saved]:
    try:
        facts = saved_boot.read(boots.opened(_bytes(file)))
        name, told = saved_boot.settings_in(facts)
        settings, problems = resolve(name, told)
        kept = boots.listed(file.parent.glob("*-*.gz"), file.name.removesuffix(".gz"))
    except (ApuhostError, OSError) as error:
        raise EvidenceError(f"{file}: not readable as a saved boot ({error})") from error
    if settings is None:
        raise EvidenceError(f"{file}: {'; '.join(problem.sentence for problem in problems)}")
    readings = {**facts.readings, "boots": Reading(kept, 0)}
    return name, (settings, HostFacts(name, facts.gathered, readings))


def _readings(folder: Path, statuses: Mapping[str, Any]) -> dict[str, Reading]:
    # Only known names become paths: a facts folder may come from anywhere.
    return {
        name: Reading(_text(folder / f"{name}.txt"), int(statuses[name]))
        for name in PROBES
        if name in statuses and os.access(folder / f"{name}.txt", os.R_OK)
    }


def _text(path: Path) -> str:
    return _bytes(path).decode("utf-8", "surrogateescape")


def _bytes(path: Path) -> bytes:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_BYTES:
        raise OSError(errno.EINVAL, "not a plain file of at most 64 MiB")
    return path.read_bytes()
