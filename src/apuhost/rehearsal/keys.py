"""The machine's keys: made for it alone, its host key pinned before the first contact."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

from apuhost.rehearsal.process import RehearsalError
from apuhost.rehearsal.state import HOST_NAME, Machine, write_private

HOST_KEY = "ssh_host_ed25519_key"


def make(machine: Machine) -> None:
    """Make the client's and the host's key, and the credentials that bring them to the guest."""
    _generate(machine.key, "apuhost rehearsal")
    host_key = machine.directory / HOST_KEY
    _generate(host_key, HOST_NAME)
    text = credentials(
        user=machine.user,
        host_key=host_key.read_text(encoding="ascii"),
        host_public_key=_public(host_key),
        client_public_key=_public(machine.key),
    )
    write_private(machine.credentials, text)


def pin(machine: Machine) -> None:
    """Write known_hosts and ssh_config for the machine's present port."""
    public = _public(machine.directory / HOST_KEY)
    write_private(machine.known_hosts, known_hosts(machine.port, public))
    write_private(machine.ssh_config, ssh_config(machine))


def credentials(*, user: str, host_key: str, host_public_key: str, client_public_key: str) -> str:
    """Lines of tmpfiles.d(5): systemd creates these files in the guest before sshd starts.

    They travel as the credential `tmpfiles.extra` through QEMU's fw_cfg, from a file: no secret is
    on a command line. `f` writes only what is not there yet; `~` means that the text is base64.
    """
    ssh = f"/home/{user}/.ssh"
    return (
        f"f~ /etc/ssh/{HOST_KEY} 0600 root root - {_base64(host_key)}\n"
        f"f~ /etc/ssh/{HOST_KEY}.pub 0644 root root - {_base64(host_public_key)}\n"
        f"d {ssh} 0700 {user} {user}\n"
        f"f~ {ssh}/authorized_keys 0600 {user} {user} - {_base64(client_public_key)}\n"
    )


def known_hosts(port: int, public_key: str) -> str:
    """The host's key under the name by which ssh looks it up."""
    kind, body = public_key.split()[:2]
    return f"[127.0.0.1]:{port} {kind} {body}\n"


def ssh_config(machine: Machine) -> str:
    """For `ssh -F FILE rehearsal`: this key, this host key, none of the user's own settings."""
    return f"""\
Host {HOST_NAME}
    HostName 127.0.0.1
    Port {machine.port}
    User {machine.user}
    IdentityFile "{machine.key}"
    IdentitiesOnly yes
    UserKnownHostsFile "{machine.known_hosts}"
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    ForwardAgent no
"""


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _public(key: Path) -> str:
    return key.with_name(f"{key.name}.pub").read_text(encoding="ascii")


def _generate(path: Path, comment: str) -> None:
    made = subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode:
        raise RehearsalError(f"{path}: ssh-keygen: {made.stderr.strip()}")
