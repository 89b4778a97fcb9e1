"""HostFacts: everything the probes read on a host, by one script in one round trip.

All hosts are asked at once. The raw text is kept: it can be saved, loaded elsewhere, and read
again by the same parsers.
"""

import secrets
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from types import ModuleType
from typing import TypeVar

from apuhost.connection import Connection, as_root
from apuhost.errors import ApuhostError
from apuhost.inventory import Host
from apuhost.probes import (
    ParseError,
    boot,
    cmdline,
    disk,
    gpus,
    grub,
    grub_cfg,
    iommu,
    kernel,
    loader,
    machine,
    meminfo,
    modprobe,
    modules,
    os_release,
)
from apuhost.probes.pairs import whole_number

PROBES: Mapping[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        machine,
        os_release,
        kernel,
        cmdline,
        meminfo,
        boot,
        loader,
        grub,
        grub_cfg,
        modprobe,
        modules,
        gpus,
        iommu,
        disk,
    )
}

PROBE_TIMEOUT_S = 30
HOST_TIMEOUT_S = 120
MOST_BYTES = 64 * 1024 * 1024
MOST_ERROR_BYTES = 64 * 1024
MOST_HOSTS_AT_ONCE = 32

Record = TypeVar("Record")


class Unreadable(ApuhostError):
    """A probe's answer is missing or cannot be read: what depends on it is unknown."""


class Unreachable(ApuhostError):
    """A host gave no facts: not reached, not trusted, or no way to become root."""


@dataclass(frozen=True)
class Reading:
    """What one probe printed, and the exit status of its command."""

    text: str
    status: int


@dataclass(frozen=True)
class HostFacts:
    """One host's readings. A record is parsed when it is first asked for.

    Every property raises Unreadable when its reading is missing, cut or failed.
    """

    host: str
    gathered: str
    readings: Mapping[str, Reading]

    def _read(self, name: str, parse: Callable[[str], Record]) -> Record:
        reading = self.readings.get(name)
        if reading is None:
            raise Unreadable(f"{name} was not read")
        if reading.status != 0:
            raise Unreadable(f"{name}: its command failed (exit {reading.status})")
        try:
            return parse(reading.text)
        except ParseError as error:
            raise Unreadable(f"{name}: {error}") from error

    @cached_property
    def machine(self) -> machine.Machine:
        """DMI names, host name, virtualization."""
        return self._read("machine", machine.parse)

    @cached_property
    def os_release(self) -> os_release.OsRelease:
        """The distribution."""
        return self._read("os_release", os_release.parse)

    @cached_property
    def kernel(self) -> kernel.Kernels:
        """The running and the installed kernels."""
        return self._read("kernel", kernel.parse)

    @cached_property
    def cmdline(self) -> cmdline.Cmdline:
        """The booted kernel line."""
        return self._read("cmdline", cmdline.parse)

    @cached_property
    def meminfo(self) -> meminfo.Meminfo:
        """How much memory the kernel manages."""
        return self._read("meminfo", meminfo.parse)

    @cached_property
    def boot(self) -> boot.Boot:
        """This boot's id and time."""
        return self._read("boot", boot.parse)

    @cached_property
    def loader(self) -> loader.Loader:
        """The boot loader in charge."""
        return self._read("loader", loader.parse)

    @cached_property
    def grub(self) -> grub.GrubFiles:
        """/etc/default/grub and its drop-ins."""
        return self._read("grub", grub.parse)

    @cached_property
    def grub_cfg(self) -> grub_cfg.GrubCfg:
        """The boot menu that GRUB reads next."""
        return self._read("grub_cfg", grub_cfg.parse)

    @cached_property
    def modprobe(self) -> modprobe.Modprobe:
        """Module options and blacklists."""
        return self._read("modprobe", modprobe.parse)

    @cached_property
    def modules(self) -> modules.Modules:
        """Live module parameters."""
        return self._read("modules", modules.parse)

    @cached_property
    def gpus(self) -> gpus.Gpus:
        """Display controllers."""
        return self._read("gpus", gpus.parse)

    @cached_property
    def iommu(self) -> iommu.Iommu:
        """The IOMMU at work."""
        return self._read("iommu", iommu.parse)

    @cached_property
    def disk(self) -> disk.Disk:
        """Free space."""
        return self._read("disk", disk.parse)


def script(mark: str) -> str:
    """The one script that runs every probe; `mark` frames what each one prints.

    The mark is new for every run, so that no file's content can imitate it.
    """
    lines = [
        "export LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        f"""probe() {{
  printf '{mark} begin %s\\n' "$1"
  timeout {PROBE_TIMEOUT_S} sh -c "$2" 2>/dev/null </dev/null
  printf '\\n{mark} end %s %d\\n' "$1" "$?"
}}""",
    ]
    lines += [f"probe {name} {shlex.quote(module.COMMAND)}" for name, module in PROBES.items()]
    return "\n".join(lines)


def unframe(mark: str, text: str) -> dict[str, Reading]:
    """The readings in the script's output; what was cut off before its end mark is left out."""
    readings = {}
    for name in PROBES:
        _, began, rest = text.partition(f"{mark} begin {name}\n")
        body, ended, tail = rest.partition(f"\n{mark} end {name} ")
        number, whole, _ = tail.partition("\n")
        status = whole_number(number)
        if began and ended and whole and status is not None:
            readings[name] = Reading(body, status)
    return readings


def gather(hosts: Iterable[Host]) -> dict[str, HostFacts | Unreachable]:
    """The facts of every host, all at once; a host that gave none is there with the reason."""
    asked = tuple(hosts)
    if not asked:
        return {}
    with ThreadPoolExecutor(min(MOST_HOSTS_AT_ONCE, len(asked))) as pool:
        return dict(zip((host.name for host in asked), pool.map(_ask, asked), strict=True))


def _ask(host: Host) -> HostFacts | Unreachable:
    mark = f"==apuhost-{secrets.token_hex(8)}=="
    try:
        text = _run(as_root(host, script(mark)))
        readings = unframe(mark, text)
        if not readings:
            raise Unreachable("answered, but ran no probe: is its login shell a shell?")
    except ApuhostError as error:
        return Unreachable(str(error))
    except OSError as error:
        return Unreachable(f"{error.filename or 'ssh'} does not start here: {error.strerror}")
    return HostFacts(host.name, datetime.now(UTC).isoformat(timespec="seconds"), readings)


def _run(connection: Connection) -> str:
    """Standard output of the remote script, at most MOST_BYTES.

    Raises:
        Unreachable: no answer, with ssh's or sudo's own words turned into what to do.
    """
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            connection.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            # Without a terminal a jump host's ssh, too, fails instead of asking about a host key.
            start_new_session=True,
        ) as process,
    ):
        timer = threading.Timer(HOST_TIMEOUT_S, process.kill)
        timer.start()
        try:
            out = _exchange(process, connection.stdin)
        finally:
            timer.cancel()
        errors.seek(0)
        said = errors.read(MOST_ERROR_BYTES).decode(errors="replace")
    if len(out) > MOST_BYTES:
        raise Unreachable(f"sends more than {MOST_BYTES >> 20} MiB of facts: something is wrong")
    if process.returncode == -signal.SIGKILL:
        raise Unreachable(f"no answer within {HOST_TIMEOUT_S} s")
    if process.returncode != 0:
        raise Unreachable(reason(process.returncode, said))
    return out.decode("utf-8", errors="surrogateescape")


def _exchange(process: "subprocess.Popen[bytes]", stdin: str) -> bytes:
    """Write standard input, read standard output to its end, or one byte past MOST_BYTES."""
    if process.stdin is None or process.stdout is None:
        raise TypeError("both ends of the process must be pipes")
    with suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(stdin.encode())
    out = process.stdout.read(MOST_BYTES + 1)
    if len(out) > MOST_BYTES:
        process.terminate()
    return out


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
    return lines[-1] if lines else f"the command ended with exit {status} and no word"
