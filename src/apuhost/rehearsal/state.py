"""Where the rehearsal's files live, and the record that finds the machine again.

Light on purpose (standard library only): the rehearsal's inventory imports it on every run.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from apuhost import places
from apuhost.errors import ApuhostError

USER = "operator"
HOST_NAME = "rehearsal"
# This machine's 127.0.0.1 as the guest and its containers reach it (QEMU's user network). A number,
# since a container sees no name that only stands in the guest's /etc/hosts.
REGISTRY_HOST = "10.0.2.2"
IMAGE = "ollama/ollama"
MODEL = "library/tiny:latest"
_RECORD = "machine.json"


class NoMachineError(ApuhostError):
    """There is no rehearsal machine, or its record cannot be read."""


@dataclass(frozen=True)
class Machine:
    """One rehearsal machine, as its record says it. Whether it runs is `machine.running`'s answer.

    Attributes:
        directory: the machine's own files; thrown away with it.
        port: TCP port on 127.0.0.1 that leads to the guest's sshd.
        user: who logs in; has sudo without a password.
        base: folder of the base image that the machine's disk stands on.
        images_port: TCP port on 127.0.0.1 of its registry of container images.
        models_port: TCP port on 127.0.0.1 of its registry of models.
        image: the stand-in's image as the guest pulls it, by digest; empty before it is there.
        model_digest: sha256 of the model's manifest (64 hex digits).
        isolated: it reaches nobody: no route, no DNS; ssh leads in.
        cable: UDP ports on 127.0.0.1 of this and of the other end of a cable between two machines,
            at their second network card; 0: there is none.
    """

    directory: Path
    port: int
    user: str
    base: Path
    images_port: int
    models_port: int
    image: str = ""
    model_digest: str = ""
    isolated: bool = False
    cable: tuple[int, int] = (0, 0)

    @property
    def model(self) -> str:
        """The model's name, as the guest pulls it."""
        return f"{REGISTRY_HOST}:{self.models_port}/{MODEL}"

    @property
    def ca(self) -> Path:
        """The CA that the registries' certificate is signed by (PEM), alone in its folder."""
        return self.directory / "ca" / "ca.crt"

    @property
    def server_certificate(self) -> Path:
        """The registries' certificate (PEM)."""
        return self.directory / "registry.pem"

    @property
    def server_key(self) -> Path:
        """Its private key (PEM, 0600)."""
        return self.directory / "registry.key"

    @property
    def images(self) -> Path:
        """Where the registry of images keeps them."""
        return self.directory / "images"

    @property
    def models(self) -> Path:
        """Where the registry of models finds them, laid out as Ollama's own store."""
        return self.directory / "models"

    @property
    def key(self) -> Path:
        """The private key that logs in (OpenSSH format, 0600)."""
        return self.directory / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        """The guest's host key, pinned before the first contact."""
        return self.directory / "known_hosts"

    @property
    def ssh_config(self) -> Path:
        """For `ssh -F FILE rehearsal`: all of the above in one file."""
        return self.directory / "ssh_config"

    @property
    def console(self) -> Path:
        """What the guest wrote to its serial port in this run of QEMU."""
        return self.directory / "console.log"

    @property
    def disk(self) -> Path:
        """The guest's disk: a qcow2 overlay on the base image."""
        return self.directory / "disk.qcow2"

    @property
    def firmware_variables(self) -> Path:
        """The guest's UEFI variables; qcow2, so that snapshots can be taken."""
        return self.directory / "uefi-variables.qcow2"

    @property
    def credentials(self) -> Path:
        """The keys as the guest's systemd takes them (0600)."""
        return self.directory / "credentials"

    @property
    def monitor(self) -> Path:
        """QEMU's QMP socket."""
        return self.directory / "qmp.sock"

    @property
    def pid_file(self) -> Path:
        """Written by QEMU itself."""
        return self.directory / "qemu.pid"

    @property
    def lock(self) -> Path:
        """Held while the machine is made, started or stopped."""
        return self.directory / "lock"


def state_directory() -> Path:
    """The machine's folder: $APUHOST_REHEARSAL_STATE, else under the user's state directory."""
    chosen = os.environ.get("APUHOST_REHEARSAL_STATE")
    if chosen:
        return Path(chosen).absolute()
    return places.state_directory() / "rehearsal"


def cache_directory() -> Path:
    """Where base images are kept: apuhost's folder under the user's cache directory."""
    return places.cache_directory()


def exists(directory: Path) -> bool:
    """Whether a machine's record is there; it is written last, so a half-made machine has none."""
    return (directory / _RECORD).exists()


def save(machine: Machine) -> None:
    """Write the record: complete under a temporary name (0600), then renamed."""
    path = machine.directory / _RECORD
    fields = {name: str(value) if isinstance(value, Path) else value
              for name, value in asdict(machine).items()}  # fmt: skip
    write_private(path, json.dumps(fields, indent=2) + "\n")


def load(directory: Path) -> Machine:
    """The machine of that directory.

    Raises:
        NoMachineError: there is none, or its record is damaged.
    """
    path = directory / _RECORD
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NoMachineError("no rehearsal machine: run apuhost rehearse up") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoMachineError(
            f"no rehearsal machine: {path} is damaged ({error!r}):"
            " run apuhost rehearse down, then apuhost rehearse up"
        ) from error


def parse(text: str) -> Machine:
    """The record as saved.

    Raises:
        ValueError, KeyError, TypeError: it is not such a record.
    """
    fields = json.loads(text)
    machine = Machine(
        directory=Path(fields["directory"]),
        port=_port(fields["port"]),
        user=str(fields["user"]),
        base=Path(fields["base"]),
        images_port=_port(fields["images_port"]),
        models_port=_port(fields["models_port"]),
        image=str(fields["image"]),
        model_digest=str(fields["model_digest"]),
        isolated=fields.get("isolated") is True,
        cable=_cable(fields.get("cable")),
    )
    if not machine.user or not machine.directory.is_absolute():
        raise ValueError("user or directory")
    return machine


def _cable(value: object) -> tuple[int, int]:
    if value in (None, [0, 0]):
        return 0, 0
    if not isinstance(value, list) or len(value) != 2:  # noqa: PLR2004
        raise ValueError(f"cable {value!r}")
    return _port(value[0]), _port(value[1])


def _port(value: object) -> int:
    if not isinstance(value, int) or not 0 < value < 2**16:
        raise ValueError(f"port {value!r}")
    return value


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)


def remove(machine_directory: Path) -> None:
    """Remove the record, so that nobody finds the machine while its files go."""
    (machine_directory / _RECORD).unlink(missing_ok=True)
