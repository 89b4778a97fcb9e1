"""One host's facts written into a folder: whole or not at all, for this user alone."""

import os
import shutil
from pathlib import Path
from urllib.parse import quote

from apuhost import places
from apuhost.evidence import index
from apuhost.evidence.files import EvidenceError
from apuhost.evidence.index import INDEX
from apuhost.host_facts import HostFacts
from apuhost.inventory import Host
from apuhost.probes import boots
from apuhost.probes.secrets import without_boot_passwords, without_logins
from apuhost.round_trip import PROBES, SAVED_PROBES


def check(folder: Path) -> None:
    """Find out before any host is asked whether facts could be saved under `folder`.

    Raises:
        EvidenceError: it is no folder, or nothing can be written there.
    """
    candidates = (folder, *folder.absolute().parents)
    there = next(each for each in candidates if os.path.lexists(each))
    if not there.is_dir():
        raise EvidenceError(f"{there} is no folder: facts need one (-o DIR)")
    try:
        places.try_to_write(there)
    except OSError as error:
        raise EvidenceError(f"{there}: nothing can be written there: {error.strerror}") from error


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
    try:
        _fill(new, host, facts)
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
            target.rename(old)
        new.rename(target)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _fill(new: Path, host: Host, facts: HostFacts) -> None:
    raw = {name: _without_secrets(name, each.text) for name, each in facts.readings.items()}
    for name, content in raw.items():
        _write_private(new / f"{name}.txt", content)
    told = without_logins(index.as_text(index.of(host, facts, raw)))
    _write_private(new / INDEX, told.encode())


def _without_secrets(name: str, text: str) -> bytes:
    kept = boots.rewritten(text, _hidden) if name == "boots" else _hidden(text)
    return kept.encode("utf-8", "surrogateescape")


def _hidden(text: str) -> str:
    return without_logins(without_boot_passwords(text))


def _refuse_foreign(folder: Path) -> None:
    """A folder is replaced only if every file in it is one that `save` writes.

    Raises:
        EvidenceError: somebody else's folder, somebody's notes beside the facts, or a link.
    """
    if folder.is_symlink():
        raise EvidenceError(f"{folder} is a symbolic link, no folder: remove it, or choose another")
    ours = {INDEX, *(f"{name}.txt" for name in (*PROBES, *SAVED_PROBES))}
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
