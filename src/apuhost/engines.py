"""Starts pyinfra as a process of its own, and builds its command line."""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from apuhost import roles
from apuhost.errors import ApuhostError
from apuhost.inventory.handover import given

NOBODY_LEFT = "No hosts remaining!"
STARTING = "--> Starting operation:"
NO_NEWS = (
    "No changes",
    "] Connected",
    "] Ready:",
    "Loading:",
    "--> Loading",
    "--> Connecting",
    "--> Preparing",
    "--> Beginning",
    "--> Results",
    "--> Disconnecting",
)
"""Lines of pyinfra's log that say how far it is, not what it did."""

_HOW_FAR = re.compile(r"\[(?P<host>[^\]]+)\] +(?P<far>[0-9.]+ of [0-9.]+ \w+)")
"""What an operation of minutes says of itself."""


class EngineError(ApuhostError):
    """pyinfra did not do its work, for a reason that lies in itself."""


@dataclass(frozen=True)
class Applied:
    """What pyinfra did: operations that changed something, and the hosts that it had to give up."""

    changed: int
    failed: tuple[str, ...]


def pyinfra(inventory: Path, hosts: Iterable[str]) -> tuple[str, ...]:
    """The command line that applies deploy/all.py to these hosts, strict about host keys."""
    limits = [part for host in hosts for part in ("--limit", _this_host(host))]
    return (
        sys.executable,
        "-m",
        "pyinfra",
        "-y",
        "--json",
        "--data",
        "ssh_strict_host_key_checking=yes",
        *limits,
        *given(inventory).arguments,
        "deploy/all.py",
    )


def _this_host(name: str) -> str:
    """A pattern for one host: a plain name would mean the group of that name first.

    The stem of an inventory file is such a group: minipc.py has all of its hosts.
    """
    escaped = glob.escape(name)
    return escaped if escaped[:1] in ("[", "") else f"[{escaped[0]}]{escaped[1:]}"


def apply(inventory: Path, hosts: Sequence[str], say: Callable[[str], None]) -> Applied:
    """Run the deploy; `say` gets a line for everything that changes, waits or fails.

    Raises:
        EngineError: pyinfra ended without saying what it did.
    """
    with (
        TemporaryFile("w+") as results,
        _handed(given(inventory).stdin) as handed,
        subprocess.Popen(
            pyinfra(inventory, hosts),
            cwd=roles.CHECKOUT,
            stdin=handed,
            stdout=results,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYINFRA_PROGRESS": "off"},
            text=True,
            errors="replace",
        ) as process,
        _ended_with_us(process),
    ):
        nobody_left = False
        for line in progress(process.stderr or ()):
            nobody_left = nobody_left or NOBODY_LEFT in line
            say(line)
        status = process.wait()
        results.seek(0)
        # pyinfra then ends without a result, which only says that every host failed.
        return Applied(0, tuple(hosts)) if nobody_left else applied(results.read(), status)


@contextmanager
def _handed(text: str) -> Iterator[IO[str]]:
    """A file of this text, without a name: there may be a password in it."""
    with TemporaryFile("w+") as file:
        file.write(text)
        file.seek(0)
        yield file


def progress(lines: Iterable[str]) -> Iterator[str]:
    """What matters in pyinfra's log: changes, waiting, errors; not what was already right."""
    operation = ""
    for line in lines:
        text = line.strip()
        if text.startswith(STARTING):
            operation = text.removeprefix(STARTING).strip()
        elif text.endswith("] Success"):
            yield f"{text.removesuffix('] Success').removeprefix('[')}  {operation}  changed"
        elif far := _HOW_FAR.fullmatch(text):
            yield f"{far['host']}  {operation}  {far['far']}"
        elif text and not any(known in text for known in NO_NEWS):
            yield text


def applied(text: str, status: int) -> Applied:
    """What pyinfra's JSON says that it did.

    Raises:
        EngineError: the text is no such JSON.
    """
    try:
        results = json.loads(text)["results"]
        operations = results["operations"]
        in_operations = {name for operation in operations for name in operation["error"]}
        # No operation knows of a host that was never connected.
        failed = in_operations | set(results.get("failed_hosts", ()))
    except (ValueError, KeyError, TypeError) as error:
        raise EngineError(f"pyinfra ended with exit {status} and no result: see above") from error
    if status and not failed:
        raise EngineError(f"pyinfra ended with exit {status}: see above")
    return Applied(
        changed=sum(len(operation["success"]) for operation in operations),
        failed=tuple(sorted(failed)),
    )


@contextmanager
def _ended_with_us(process: subprocess.Popen[str]) -> Iterator[None]:
    """Told to end where this process is; otherwise it would be waited for to its own end."""
    try:
        yield
    except BaseException:
        process.terminate()
        raise
