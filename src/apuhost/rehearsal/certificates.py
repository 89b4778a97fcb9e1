"""The registries' certificate, signed by a site CA that is made for one machine and then forgotten.

The guest must be told to trust it (docker_site_ca), as on a network that inspects TLS.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from apuhost.rehearsal.process import RehearsalError
from apuhost.rehearsal.state import REGISTRY_HOST, Machine

_DAYS = 365


def make(machine: Machine) -> None:
    """Make the CA, sign the one certificate, remove the CA's key: it signs nothing else.

    Raises:
        RehearsalError: openssl refused.
    """
    machine.ca.parent.mkdir(mode=0o700, exist_ok=True)
    ca_key = machine.server_key.with_name("ca.key")
    try:
        _run(ca_command(machine.ca, ca_key))
        _run([
            *server_command(machine.server_certificate, machine.server_key),
            "-CA", str(machine.ca), "-CAkey", str(ca_key),
        ])  # fmt: skip
    finally:
        ca_key.unlink(missing_ok=True)


def ca_command(certificate: Path, key: Path) -> list[str]:
    """A CA that signs servers, no further CA."""
    return [
        *_request(certificate, key, "apuhost rehearsal CA"),
        "-addext", "basicConstraints=critical,CA:TRUE,pathlen:0",
        "-addext", "keyUsage=critical,keyCertSign,cRLSign",
    ]  # fmt: skip


def server_command(certificate: Path, key: Path) -> list[str]:
    """The server under its address for the guest, and under 127.0.0.1 on this machine."""
    return [
        *_request(certificate, key, "apuhost rehearsal registries"),
        "-addext", f"subjectAltName=IP:{REGISTRY_HOST},IP:127.0.0.1",
        "-addext", "basicConstraints=critical,CA:FALSE",
        "-addext", "extendedKeyUsage=serverAuth",
        "-addext", "authorityKeyIdentifier=keyid",
    ]  # fmt: skip


def _request(certificate: Path, key: Path, name: str) -> list[str]:
    # -config: nothing of the system's own openssl.cnf comes in beside what is said here.
    return [
        "openssl", "req", "-x509", "-config", "/dev/null", "-subj", f"/CN={name}",
        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", str(_DAYS),
        "-out", str(certificate), "-keyout", str(key),
    ]  # fmt: skip


def _run(command: list[str]) -> None:
    made = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise RehearsalError(f"openssl: {made.stderr.strip()}")
