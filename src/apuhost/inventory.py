"""The inventory: pyinfra's merged data of every host, --limit as pyinfra means it, key origins."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from apuhost import roles
from apuhost.errors import ApuhostError
from apuhost.settings import Problem, Settings, resolve

# What a traceback puts before the sentence: the exception's dotted name.
_EXCEPTION = re.compile(r"^(?:\w+\.)*\w+(?:Error|Exception|Exit): ")


class InventoryError(ApuhostError):
    """The inventory is missing, empty, not readable or has settings that cannot be right."""


@dataclass(frozen=True)
class Host:
    """One host as pyinfra sees it: its name, its groups, its merged data."""

    name: str
    groups: tuple[str, ...]
    data: Mapping[str, Any]


def load(path: Path, limits: Iterable[str] = ()) -> tuple[Host, ...]:
    """The hosts of an inventory file, cut to `limits` (names, groups, or patterns as in pyinfra).

    Raises:
        InventoryError: no file, no host, a file that fails, or a limit that matches nothing
            (pyinfra itself exits 0 for these).
    """
    if not path.is_file():
        raise InventoryError(f"{path}: no such inventory file (see inventories/ for examples)")
    hosts = tuple(
        Host(entry["name"], tuple(dict.fromkeys(entry["groups"])), entry["data"])
        for entry in json.loads(_debug_inventory(path))
    )
    if not hosts:
        raise InventoryError(f'{path}: no host in it: write hosts = ["name"]')
    return _limited(hosts, tuple(limits))


def settings(path: Path, hosts: Iterable[Host]) -> dict[str, Settings]:
    """The settings of every host.

    Raises:
        InventoryError: every problem of every host, a line each with file, host and key.
    """
    found: dict[str, Settings] = {}
    problems: list[Problem] = []
    for host in hosts:
        resolved, wrong = resolve(host.name, host.data)
        problems += wrong
        if resolved is not None:
            found[host.name] = resolved
    if problems:
        raise InventoryError(_report(path, tuple(hosts), problems))
    return found


def origin(path: Path, host: Host, key: str) -> Path:
    """The file that gave `key` its value: the inventory itself, else the group data."""
    folder = path.parent / "group_data"
    groups = (*reversed(host.groups), "all")
    candidates = [path, *(folder / f"{group}.py" for group in groups)]
    return next((file for file in candidates if file.is_file() and _names(file, key)), path)


def _debug_inventory(path: Path) -> str:
    # A process of its own: importing pyinfra_cli patches gevent into the caller.
    command = [sys.executable, "-m", "pyinfra", str(path.resolve()), "debug-inventory", "--json"]
    try:
        done = subprocess.run(
            command, cwd=roles.CHECKOUT, capture_output=True, text=True, timeout=60, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise InventoryError(f"{path}: not read within 60 s: what does it wait for?") from error
    if done.returncode != 0 or not done.stdout.startswith("["):
        raise InventoryError(f"{path}: {_last_error(done.stderr)}")
    return done.stdout


def _last_error(stderr: str) -> str:
    """The sentence that matters in what pyinfra prints of a failing inventory file."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("-->")]
    if not said:
        told = [line for line in lines if "error" in line.lower()]
        return told[-1].removeprefix("--> ") if told else "pyinfra could not read it"
    return _EXCEPTION.sub("", said[-1])


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
    return limit == "all" or limit in host.groups or fnmatch(host.name, limit)


def _names(file: Path, key: str) -> bool:
    """Whether a Python file mentions the key as a name, a string or a keyword."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return False
    return any(
        key in (getattr(node, "value", None), getattr(node, "id", None), getattr(node, "arg", None))
        for node in ast.walk(tree)
    )


def _report(path: Path, hosts: tuple[Host, ...], problems: list[Problem]) -> str:
    """One line per problem; the same problem of every host is said once."""
    by_name = {host.name: host for host in hosts}
    grouped: dict[tuple[Path, str], list[str]] = {}
    for problem in problems:
        file = origin(path, by_name[problem.host], problem.key)
        grouped.setdefault((file, problem.sentence), []).append(problem.host)
    lines = [
        f"{_shown(file)}: {_who(named, len(hosts))}: {sentence}"
        for (file, sentence), named in grouped.items()
    ]
    count = f"{len(lines)} problem{'s' if len(lines) > 1 else ''}, nothing contacted"
    return "\n".join([*lines, count])


def _who(named: list[str], total: int) -> str:
    return "all hosts" if total > 1 and len(named) == total else ", ".join(named)


def _shown(file: Path) -> str:
    try:
        return str(file.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(file)
