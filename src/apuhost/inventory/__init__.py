"""The inventory: pyinfra's merged data of every host, --limit as pyinfra means it, key origins."""

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apuhost import ranges
from apuhost.inventory import groups, reading, sources
from apuhost.inventory.handover import given
from apuhost.inventory.syntax import InventoryError as InventoryError
from apuhost.inventory.syntax import shown
from apuhost.settings import Settings, resolve
from apuhost.settings.destination import LONGEST, why_no_name
from apuhost.settings.problems import Problem, line

_MISSING = "there is no such file on this machine"


@dataclass(frozen=True)
class Host:
    """One host as pyinfra sees it: its name, its groups, its merged data.

    `places` tells of keys that a file other than Python gives where each of them stands.
    """

    name: str
    groups: tuple[str, ...]
    data: Mapping[str, Any]
    places: Mapping[str, str] = field(default_factory=dict, compare=False)


def load(path: Path, limits: Iterable[str] = ()) -> tuple[Host, ...]:
    """The hosts of an inventory file, cut to `limits` (names, groups, or patterns as in pyinfra).

    Raises:
        InventoryError: no file, no host, a host twice, a file that fails, or a limit that matches
            nothing (pyinfra itself exits 0 for these).
    """
    if why := _unlike(path):
        raise InventoryError(f"{path}: {why} (see inventories/ for examples)")
    sources.check(path)
    places = given(path).places
    read = reading.read(path)
    hosts = tuple(_host(path, entry, places.get(entry["name"], {})) for entry in read.hosts)
    if read.fault:
        settings(path, hosts)  # of a wrong key pyinfra names neither the host nor the next one
        raise InventoryError(read.fault)
    if not hosts:
        raise InventoryError(f'{shown(path)}: no host in it: write hosts = ["name"]')
    groups.check(path, {group for host in hosts for group in host.groups})
    return _limited(hosts, tuple(limits))


def _unlike(path: Path) -> str:
    """Why this is no file of an inventory, "" if it may be one: a FIFO would be waited for."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "no such inventory file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISDIR(mode):
        return "is a folder, no inventory file"
    return "" if stat.S_ISREG(mode) else "is a pipe, a socket or a device, no inventory file"


def _host(path: Path, entry: Mapping[str, Any], places: Mapping[str, str]) -> Host:
    named = tuple(dict.fromkeys(entry["groups"]))
    # pyinfra lists a group once for each time that it names the host; with a connector, doubled.
    usual = 2 if entry["name"].startswith("@") else 1
    for group in named:
        if entry["groups"].count(group) > usual:
            raise InventoryError(f"{shown(path)}: {entry['name']} is twice in {group}")
    return Host(entry["name"], named, entry["data"], places)


def settings(path: Path, hosts: Iterable[Host]) -> dict[str, Settings]:
    """The settings of every host.

    Raises:
        InventoryError: every problem of every host, a line each with file, host and key.
    """
    found: dict[str, Settings] = {}
    problems: list[Problem] = []
    for host in hosts:
        unreachable = _unreachable(host)
        resolved, wrong = (None, unreachable) if unreachable else resolve(host.name, host.data)
        problems += (*wrong, *_lost_files(host))
        if resolved is not None:
            found[host.name] = resolved
    if problems:
        raise InventoryError(_report(path, tuple(hosts), problems))
    return found


def _unreachable(host: Host) -> tuple[Problem, ...]:
    """Why there is no way to a host of this name."""
    connector, _, _ = host.name.partition("/")
    if connector.startswith("@") and connector not in ("@local", "@ssh"):
        return (Problem(host.name, host.name, f"not {connector}: apuhost uses ssh, or @local"),)
    why = "" if connector == "@local" else why_no_name(host.name.removeprefix("@ssh/"))
    if why:
        # Also where ssh_hostname tells the way: reports, --limit and folders of facts go by it.
        return (Problem(host.name, host.name, f"cannot be a host's name: {why}"),)
    return ()


NO_FILE = "none"
"""What ssh itself calls it."""

_FILES = {"ssh_key": "", "ssh_config_file": "", "ssh_known_hosts_file": _MISSING}
"""Keys that name a file for ssh, each with what is no fault of its file."""


def _lost_files(host: Host) -> tuple[Problem, ...]:
    """Files for ssh that cannot be read here: of these ssh only says that it may not log in."""
    problems = []
    for key, harmless in _FILES.items():
        named = host.data.get(key)
        if host.name == "@local" or not isinstance(named, str) or not named.isprintable():
            continue
        if named not in {"", NO_FILE} and (why := _unread(named)) not in {"", harmless}:
            problems.append(Problem(host.name, key, f"{key} is {named}: {why}"))
    return tuple(problems)


def _unread(named: str) -> str:
    """Why a file of this machine cannot be read; "" if it can."""
    file = Path(os.path.expanduser(named))  # noqa: PTH111  (~nobody stays as it is)
    try:
        if file.is_dir() or not file.exists():
            return _MISSING
        file.open("rb").close()
    except OSError as error:
        return str(error.strerror)
    return ""


def _limited(hosts: tuple[Host, ...], limits: tuple[str, ...]) -> tuple[Host, ...]:
    if not limits:
        return hosts
    names = {host.name for host in hosts}
    for limit in limits:
        if not any(_matches(host, limit, names) for host in hosts):
            hint = " (one name each: --limit a --limit b)" if "," in limit else ""
            known = ", ".join(host.name for host in hosts[:8])
            raise InventoryError(f"--limit {limit} matches no host{hint}; there are: {known}")
    return tuple(host for host in hosts if any(_matches(host, limit, names) for limit in limits))


def _matches(host: Host, limit: str, names: set[str]) -> bool:
    # A host's name wins over a group's: minipc.py makes a group minipc of all of its hosts.
    if limit in names:
        return host.name == limit
    return limit == "all" or limit in host.groups or ranges.matches(host.name, limit)


def _report(path: Path, hosts: tuple[Host, ...], problems: list[Problem]) -> str:
    """One line per problem; the same problem of every host is said once."""
    by_name = {host.name: host for host in hosts}
    grouped: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        where = _where(path, by_name[problem.host], problem.key)
        grouped.setdefault((where, problem.sentence), []).append(problem.host)
    lines = [
        f"{where}: {_who(named, len(hosts))}: {sentence}"
        for (where, sentence), named in grouped.items()
    ]
    count = f"{len(lines)} problem{'s' if len(lines) > 1 else ''}, nothing contacted"
    return "\n".join([*lines, count])


def _where(path: Path, host: Host, key: str) -> str:
    """The file that gave a key its value, with the line where that is known."""
    told = host.places.get(key)
    return told or shown(sources.origin(path, host.name, host.groups, key))


def _who(named: list[str], total: int) -> str:
    return "all hosts" if total > 1 and len(named) == total else ", ".join(map(_plain, named))


def _plain(name: str) -> str:
    """A host's name on one line of a terminal, also one that can be none."""
    told = line(name)
    return told if len(name) <= LONGEST else f"{told[:40]}... ({len(name)} letters)"
