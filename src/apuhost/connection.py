"""How a host is reached: the command line that runs a script there as root.

The system's ssh does the work, so ~/.ssh/config (jump hosts, proxies, agents) is honoured.
"""

import os
import shlex
from dataclasses import dataclass

from apuhost.errors import ApuhostError
from apuhost.inventory import Host

CONNECT_TIMEOUT_S = 10
SCRIPT_TIMEOUT_S = 240
"""Enough for apt that is slow, here and at a mirror, beside a dockerd that hangs."""

TIMED_OUT = 124
"""timeout(1)'s exit status."""

# A host key that is not known, or has changed, ends the connection; nothing is asked or accepted.
SAFE = ("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes")


class ConnectionProblem(ApuhostError):
    """The inventory names a host in a way that apuhost cannot reach."""


@dataclass(frozen=True)
class Connection:
    """argv that runs one script as root, and what goes to its standard input (a sudo password).

    The host itself ends the script after so many `seconds`.
    """

    argv: tuple[str, ...]
    stdin: str
    seconds: int

    @property
    def overdue(self) -> str:
        """What to say of a script that the host has ended (TIMED_OUT)."""
        return f"took longer than {self.seconds} s: see what keeps it busy, and run this again"


def is_local(host: Host) -> bool:
    """Whether this is the very machine that apuhost runs on."""
    return host.name == "@local"


def as_root(host: Host, script: str, *options: str, seconds: int = SCRIPT_TIMEOUT_S) -> Connection:
    """Run `script` with sh as root on the host, for so many seconds; `options` are ssh's.

    Raises:
        ConnectionProblem: a connector other than ssh and @local.
    """
    password = host.data.get("_sudo_password") or ""
    command = _root_command(script, seconds, bool(host.data.get("_sudo")), bool(password))
    stdin = f"{password}\n" if password else ""
    if is_local(host):
        return Connection(tuple(command), stdin, seconds)
    return Connection((*ssh(host, *options), "--", shlex.join(command)), stdin, seconds)


def ssh(host: Host, *options: str) -> tuple[str, ...]:
    """The ssh command line up to and including the destination.

    Raises:
        ConnectionProblem: a connector other than ssh.
    """
    data = host.data
    name = host.name.removeprefix("@ssh/")
    if name.startswith("@"):
        raise ConnectionProblem(f"{host.name}: apuhost reaches hosts over ssh, or as @local")
    destination = str(data.get("ssh_hostname") or name)
    if destination.startswith("-"):
        raise ConnectionProblem(f"{host.name}: {destination!r} cannot be a host name")
    return (
        "ssh",
        *SAFE,
        "-o",
        f"ConnectTimeout={CONNECT_TIMEOUT_S}",
        *_ssh_options(host),
        *options,
        destination,
    )


def _ssh_options(host: Host) -> tuple[str, ...]:
    data = host.data
    known = data.get("ssh_known_hosts_file")
    named = (
        ("-F", data.get("ssh_config_file")),
        ("-p", data.get("ssh_port")),
        ("-l", data.get("ssh_user")),
        ("-i", data.get("ssh_key")),
    )
    options = [part for flag, value in named if value for part in (flag, _expanded(value))]
    if known:
        options += ["-o", f'UserKnownHostsFile="{_expanded(known)}"']  # ssh splits at blanks
    if data.get("ssh_key"):
        options += ["-o", "IdentitiesOnly=yes"]
    return tuple(options)


def _expanded(value: object) -> str:
    return os.path.expanduser(str(value))  # noqa: PTH111  (also used for ports and users)


def _root_command(script: str, seconds: int, sudo: bool, password: bool) -> list[str]:
    # A limit of its own: nobody here may end a process that sudo has made root's.
    shell = ["timeout", str(seconds), "sh", "-c", script]
    if not sudo:
        return shell
    # -S reads the password from standard input; without one, -n fails instead of asking.
    asking = ["-S", "-p", ""] if password else ["-n"]
    return ["env", "LC_ALL=C", "sudo", *asking, "--", *shell]
