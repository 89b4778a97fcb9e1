"""The files that a rehearsal machine is: made on a base image, supplied, and thrown away."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from apuhost.locks import exclusive
from apuhost.rehearsal import certificates, hypervisor, keys, ports, registries, state, stock
from apuhost.rehearsal.image import BaseImage
from apuhost.rehearsal.process import RehearsalError
from apuhost.rehearsal.state import Machine


def create(directory: Path, base: BaseImage) -> Machine:
    """Make a machine on the base image: disk, keys, registries, record. It does not run yet.

    Raises:
        RehearsalError: there is one already, or a part of it could not be made.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    port, images, models = ports.free(3)
    machine = Machine(directory, port, state.USER, base.directory, images, models)
    _refuse_unfamiliar(machine)
    with exclusive(machine.lock):
        if state.exists(directory):
            raise RehearsalError(f"{directory} has a machine: run apuhost rehearse down first")
        _remove_files(machine)
        directory.chmod(0o700)
        _overlay(base.disk, machine.disk)
        _overlay(base.firmware_variables, machine.firmware_variables)
        keys.make(machine)
        keys.pin(machine)
        certificates.make(machine)
        machine = replace(machine, model_digest=stock.write_models(machine.models))
        state.save(machine)
    return machine


def supply(machine: Machine, layout: Path, tag: str) -> Machine:
    """Bring Ollama's image, or a stand-in's, to its registry; record how the guest pulls it.

    The machine must have been started: its registries run then.

    Raises:
        RehearsalError: the layout is not one image, or it could not be pushed.
    """
    with exclusive(machine.lock):
        machine = state.load(machine.directory)
        machine = replace(machine, image=stock.push(layout, machine, state.IMAGE, tag))
        state.save(machine)
    return machine


def destroy(directory: Path) -> None:
    """End the machine of that folder, if any, and remove its files: all that `create` made."""
    if not directory.is_dir():
        return
    machine = Machine(directory, 1, state.USER, directory, 1, 1)
    _refuse_unfamiliar(machine)
    with exclusive(machine.lock):
        hypervisor.kill(machine)
        registries.end(machine)
        _remove_files(machine)
        machine.lock.unlink()
    if not any(directory.iterdir()):  # the user's own files there, if any, stay
        directory.rmdir()


def _overlay(base: Path, target: Path) -> None:
    made = subprocess.run(
        ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", str(base), str(target)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if made.returncode:
        raise RehearsalError(f"{target}: qemu-img: {made.stderr.strip()}")


def _files(machine: Machine) -> list[Path]:
    host_key = machine.directory / keys.HOST_KEY
    return [
        machine.disk, machine.firmware_variables, machine.credentials, machine.known_hosts,
        machine.ssh_config, machine.console, machine.monitor, machine.pid_file,
        machine.key, machine.key.with_suffix(".pub"), host_key, host_key.with_suffix(".pub"),
        machine.server_certificate, machine.server_key, stock.push_log(machine),
        *registries.files(machine),
    ]  # fmt: skip


def _refuse_unfamiliar(machine: Machine) -> None:
    """Somebody's folder, named by mistake (~/.ssh has files of the same names), is not touched.

    Raises:
        RehearsalError: it is not empty, and has no lock: `create` makes that first.
    """
    if any(machine.directory.iterdir()) and not machine.lock.exists():
        raise RehearsalError(f"{machine.directory}: not a rehearsal's folder, it holds other files")


def _remove_files(machine: Machine) -> None:
    state.remove(machine.directory)
    for path in _files(machine):
        path.unlink(missing_ok=True)
    for folder in (machine.ca.parent, machine.images, machine.models):
        shutil.rmtree(folder, ignore_errors=True)
