"""The facts of every host, all at once: one script, one round trip each, over the system's ssh."""

import os
import secrets
import signal
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime

from apuhost import pipes
from apuhost.connection import SCRIPT_TIMEOUT_S, TIMED_OUT, Connection, as_root
from apuhost.errors import ApuhostError
from apuhost.host_facts import HostFacts
from apuhost.inventory import Host
from apuhost.pipes import Pipe
from apuhost.round_trip import PROBES, script, unframe

Process = subprocess.Popen[bytes]

HOST_TIMEOUT_S = SCRIPT_TIMEOUT_S + 30
"""The host ends its script by itself, unless the connection hangs."""

MOST_BYTES = 64 * 1024 * 1024
MOST_ERROR_BYTES = 1024 * 1024  # a banner and a verbose ssh have less
MOST_HOSTS_AT_ONCE = 32


class Unreachable(ApuhostError):
    """A host gave no facts: not reached, not trusted, or no way to become root."""


def gather(
    hosts: Iterable[Host], probes: Iterable[str] = tuple(PROBES)
) -> dict[str, HostFacts | Unreachable]:
    """The facts of every host, all at once; a host that gave none is there with the reason."""
    names = tuple(probes)
    asked = tuple(hosts)
    if not asked:
        return {}
    running: set[Process] = set()
    with ThreadPoolExecutor(min(MOST_HOSTS_AT_ONCE, len(asked))) as pool:
        try:
            answers = list(pool.map(lambda host: _ask(host, names, running), asked))
        except BaseException:
            # Ctrl-C, or an end that was asked for: sessions of their own do not get it.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in tuple(running):
                _signal(process, signal.SIGTERM)
            raise
    return dict(zip((host.name for host in asked), answers, strict=True))


def _ask(host: Host, probes: tuple[str, ...], running: set[Process]) -> HostFacts | Unreachable:
    mark = f"==apuhost-{secrets.token_hex(8)}=="
    try:
        text = _run(as_root(host, script(mark, probes)), running)
        readings = unframe(mark, text)
        if not readings:
            raise Unreachable("answered, but ran no probe: is its login shell a shell?")
    except ApuhostError as error:
        return Unreachable(str(error))
    except ValueError as error:  # a NUL byte or half a character in the inventory's ssh_ data
        return Unreachable(f"its ssh settings cannot be used: {error}")
    except OSError as error:
        if isinstance(error, FileNotFoundError) and error.filename == "ssh":
            return Unreachable("ssh is not installed here: apt-get install openssh-client")
        return Unreachable(f"{error.filename or 'ssh'} does not start here: {error.strerror}")
    return HostFacts(host.name, datetime.now(UTC).isoformat(timespec="seconds"), readings)


def _run(connection: Connection, running: set[Process]) -> str:
    """Standard output of the remote script, at most MOST_BYTES.

    Raises:
        Unreachable: no answer, with ssh's or sudo's own words turned into what to do.
        CutOff: too much of an answer, or none in time; its ssh is gone then.
    """
    with subprocess.Popen(
        connection.argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Without a terminal a jump host's ssh, too, fails instead of asking about a host key.
        start_new_session=True,
    ) as process:
        running.add(process)
        try:
            out, errors = _exchange(process, connection.stdin)
        except pipes.CutOff:
            _signal(process, signal.SIGKILL)
            raise
        finally:
            running.discard(process)
    if process.returncode == TIMED_OUT:
        raise Unreachable(connection.overdue)
    if process.returncode != 0:
        raise Unreachable(reason(process.returncode, errors.decode(errors="replace")))
    return out.decode("utf-8", errors="surrogateescape")


def _exchange(process: Process, stdin: str) -> list[bytes]:
    """Write standard input, read standard output and standard error to their ends or limits.

    Raises:
        CutOff: there is no end to them.
    """
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise TypeError("all ends of the process must be pipes")
    with suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(stdin.encode())
    said = (
        Pipe(process.stdout, MOST_BYTES, "facts"),
        Pipe(process.stderr, MOST_ERROR_BYTES, "errors"),
    )
    return pipes.read(said, HOST_TIMEOUT_S, lambda: process.poll() is not None)


def _signal(process: Process, number: int) -> None:
    """To the process and all that it started: the ssh of a jump host is one of these."""
    with suppress(OSError):
        os.killpg(process.pid, number)


NO_SUDO = "it has no sudo: install sudo, or log in as root with _sudo = False"

REASONS = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key is another than the known one: if you reinstalled it, compare the "
        "fingerprint at its console, then `ssh-keygen -R HOST` and connect once by hand",
    ),
    (
        "Host key verification failed",
        "its host key is not known: connect once by hand (`ssh HOST`), compare the fingerprint "
        "with its console, accept it",
    ),
    ("Permission denied", "login refused: is your key in its authorized_keys? (`ssh-copy-id`)"),
    (
        "Could not resolve hostname",
        "its name does not resolve: check the spelling, DNS, ssh_hostname",
    ),
    ("Connection refused", "connection refused: is sshd running, and is the port right?"),
    ("timed out", "connection timed out: is it switched on, and is the address right?"),
    ("No route to host", "no route to it: check the network and the address"),
    (
        "a password is required",
        "sudo asks for a password: allow NOPASSWD for this user, or set _sudo_password "
        "(docs/security.md says who can see it)",
    ),
    ("incorrect password", "sudo refuses the password in _sudo_password"),
    ("not in the sudoers file", "this user may not use sudo: add it to the group sudo"),
    ("sudo: not found", NO_SUDO),
    ("sudo: command not found", NO_SUDO),
    # env's own words, under LC_ALL=C or in UTF-8.
    ("'sudo': No such file", NO_SUDO),
    ("\u2018sudo\u2019: No such file", NO_SUDO),
)


def reason(status: int, stderr: str) -> str:
    """What to do about a failed connection, from ssh's or sudo's stderr (neither is translated)."""
    for words, sentence in REASONS:
        if words in stderr:
            return sentence
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"ssh or sudo ended with exit {status} and no word: try by hand"
