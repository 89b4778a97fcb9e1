"""The registries that the guest pulls from: Debian's docker-registry, and one of models.

Both listen on this machine's 127.0.0.1 with TLS. They start and end with the machine, outlive its
reboots and power cuts, and keep their ports, which stand in the guest's files.
"""

from __future__ import annotations

import json
import socket
import ssl
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apuhost.rehearsal import daemon, process
from apuhost.rehearsal.daemon import Daemon
from apuhost.rehearsal.process import RehearsalError
from apuhost.rehearsal.state import Machine

_MODEL_REGISTRY = Path(__file__).parent / "standin" / "registry.py"
_START_SECONDS = 20.0


@dataclass(frozen=True)
class Registry:
    """One of them.

    Attributes:
        name: of its files in the machine's folder.
        port: TCP port on 127.0.0.1.
        command: what runs.
        mark: a word of the command that no other process has: a path in the machine's folder.
    """

    name: str
    port: int
    command: tuple[str, ...]
    mark: Path


def of(machine: Machine) -> tuple[Registry, Registry]:
    """The registry of images and the registry of models."""
    return (
        Registry("images", machine.images_port, images_command(machine), _configuration(machine)),
        Registry("models", machine.models_port, models_command(machine), machine.models),
    )


def start(machine: Machine) -> None:
    """Start whichever does not run, and wait until they answer.

    Raises:
        RehearsalError: one ended at once, or does not answer; its `log` says why.
    """
    _configuration(machine).write_text(json.dumps(images_configuration(machine)))
    for registry in of(machine):
        known = _daemon(machine, registry)
        if daemon.pid(known) is None:
            log = _file(machine, registry, "log")
            daemon.start(known, registry.command, log)
            _wait_until_ready(known, registry, machine.ca, log)


def end(machine: Machine) -> None:
    """End those that run."""
    for registry in of(machine):
        daemon.end(_daemon(machine, registry))


def files(machine: Machine) -> list[Path]:
    """All that a run of them leaves beside what they hold."""
    of_each = [_file(machine, each, kind) for each in of(machine) for kind in ("pid", "log")]
    return [_configuration(machine), *of_each]


def images_command(machine: Machine) -> tuple[str, ...]:
    """Debian's docker-registry; its own configuration wants passwords, so it gets another."""
    return "docker-registry", "serve", str(_configuration(machine))


def images_configuration(machine: Machine) -> dict[str, object]:
    """As docker-registry reads it (YAML; JSON is such). What is pushed cannot be deleted."""
    tls = {"certificate": str(machine.server_certificate), "key": str(machine.server_key)}
    return {
        "version": "0.1",
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(machine.images)}},
        "http": {"addr": f"127.0.0.1:{machine.images_port}", "tls": tls},
    }


def models_command(machine: Machine) -> tuple[str, ...]:
    """The stand-in's own registry, a program of its own."""
    return (
        sys.executable, str(_MODEL_REGISTRY), "--listen", f"127.0.0.1:{machine.models_port}",
        "--cert", str(machine.server_certificate), "--key", str(machine.server_key),
        "--store", str(machine.models),
    )  # fmt: skip


def _wait_until_ready(known: Daemon, registry: Registry, ca: Path, log: Path) -> None:
    until = time.monotonic() + _START_SECONDS
    while daemon.pid(known) and time.monotonic() < until:
        if _answers(registry.port, ca):
            return
        time.sleep(0.1)
    reason = next(iter(process.tail(log, 1)), "no answer")
    raise RehearsalError(
        f"the registry of {registry.name} (port {registry.port}) did not start: {reason}", log
    )


def _answers(port: int, ca: Path) -> bool:
    trust = ssl.create_default_context(cafile=ca)
    try:
        with (
            socket.create_connection(("127.0.0.1", port), 1) as plain,
            trust.wrap_socket(plain, server_hostname="127.0.0.1"),
        ):
            return True
    except OSError:
        return False


def _daemon(machine: Machine, registry: Registry) -> Daemon:
    def is_ours(arguments: Sequence[str]) -> bool:
        return arguments[:1] == [registry.command[0]] and str(registry.mark) in arguments

    return Daemon(_file(machine, registry, "pid"), is_ours)


def _file(machine: Machine, registry: Registry, kind: str) -> Path:
    return machine.directory / f"{registry.name}.{kind}"


def _configuration(machine: Machine) -> Path:
    return machine.directory / "images.json"
