"""A script as root on a host: bytes go in, however many, and few come out."""

import os
import secrets
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, TypeVar

from apuhost import connection, gather
from apuhost.bundle.item import BundleError
from apuhost.errors import ApuhostError
from apuhost.inventory import Host

SECONDS = 600
"""For what takes no time of its own, on a slow disk."""

MOST_BYTES = 64 * 1024 * 1024
_BLOCK = 64 * 1024
_UNREACHED = 255
"""ssh's exit status for its own troubles (ssh(1)); what a script ends with is below."""

# A line that went dead ends after a minute: TCP alone would wait for hours.
_ALIVE = ("-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4")

# sudo reads the password off standard input only where it asks for one; what it left goes first.
# A login's own words, of a .bashrc, come before the mark on standard output.
_START = """export LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
set -e
until [ "${line-}" = "$mark" ]; do IFS= read -r line || exit 1; done
printf '\\n%s\\n' "$mark"
"""

Give = Callable[[IO[bytes]], None]
"""Writes what a script reads."""


_NO_REASON = "tar: Exiting with failure status due to previous errors"
"""Its last words: what happened stands before them."""

_T = TypeVar("_T")


class HostError(BundleError):
    """A host that could not do its part of an install."""

    exit_status = 1


def nothing(_: IO[bytes]) -> None:
    """For a script that reads nothing."""


def each(hosts: Iterable[Host], ask: Callable[[Host], _T]) -> dict[str, _T | ApuhostError]:
    """What `ask` gives for every host, by name, all at once; or why it gives nothing."""
    asked = tuple(hosts)

    def answer(host: Host) -> _T | ApuhostError:
        try:
            return ask(host)
        except ApuhostError as error:
            return error

    with ThreadPoolExecutor(gather.MOST_HOSTS_AT_ONCE) as pool:
        return dict(zip((host.name for host in asked), pool.map(answer, asked), strict=True))


def run(
    host: Host, script: str, words: Sequence[str] = (), give: Give = nothing, seconds: int = SECONDS
) -> bytes:
    """What the script prints; `words` are its $1 and so on.

    Raises:
        HostError: it failed, in its own last words, or did not run.
        Unreachable: ssh or sudo did not get as far.
    """
    mark = f"==apuhost-{secrets.token_hex(8)}=="
    whole = f"mark={mark}\nset -- {shlex.join(words)}\n{_START}{script}"
    reached = connection.as_root(host, whole, *_ALIVE, seconds=seconds)
    process = subprocess.Popen(
        reached.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, said = _exchanged(process, f"{reached.stdin}{mark}\n".encode(), give)
    except BaseException:
        with suppress(OSError):  # it ended by itself
            os.killpg(process.pid, signal.SIGTERM)
        raise
    finally:
        process.wait()
    if process.returncode:
        if process.returncode == connection.TIMED_OUT:
            raise HostError(f"{host.name}: {reached.overdue}")
        raise _failed(host, process.returncode, said.decode(errors="replace"))
    _, begun, told = out.partition(f"\n{mark}\n".encode())
    if not begun:
        raise HostError(f"{host.name}: answered, but ran nothing: is its login shell a shell?")
    return told


def _exchanged(process: "subprocess.Popen[bytes]", begin: bytes, give: Give) -> tuple[bytes, bytes]:
    """Write everything, and meanwhile read both outputs, since a full pipe stops a script."""
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise TypeError("all ends of the process must be pipes")
    out, said = bytearray(), bytearray()
    readers = [
        threading.Thread(target=_drain, args=(pipe, kept), daemon=True)
        for pipe, kept in ((process.stdout, out), (process.stderr, said))
    ]
    for reader in readers:
        reader.start()
    with suppress(BrokenPipeError), process.stdin as pipe:  # its status and words tell why
        pipe.write(begin)
        give(pipe)
    for reader in readers:
        reader.join()
    return bytes(out), bytes(said)


def _drain(pipe: IO[bytes], kept: bytearray) -> None:
    """Read to the end and keep the first bytes: a host must not fill our memory."""
    with pipe:
        while block := pipe.read1(_BLOCK):  # type: ignore[attr-defined]  # of a buffered pipe
            kept += block[: MOST_BYTES - len(kept)]


def _failed(host: Host, status: int, said: str) -> BundleError | gather.Unreachable:
    why = gather.reason(status, said.replace(_NO_REASON, ""))
    if status == _UNREACHED:
        return gather.Unreachable(f"{host.name}  not reached: {why}")
    return HostError(f"{host.name}: {why}")
