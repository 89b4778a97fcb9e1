"""The rehearsal machine's life: made, started, reached, stopped, thrown away."""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from apuhost.locks import exclusive
from apuhost.rehearsal import (
    certificates,
    hypervisor,
    keys,
    monitor,
    ports,
    process,
    qemu,
    registries,
    reset,
    ssh,
    state,
    stock,
)
from apuhost.rehearsal.image import BaseImage
from apuhost.rehearsal.process import Heartbeat, RehearsalError
from apuhost.rehearsal.state import Machine

_PORT_TRIES = 5
_READY_SECONDS = 480.0  # of a boot: 40 in emulation, many times that on a busy machine
_POWER_OFF_SECONDS = 90.0
_START_SECONDS = 30.0
_RESET_SECONDS = 3.0


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


def isolate(machine: Machine) -> Machine:
    """Let it reach nobody from its next start on; ssh still leads in.

    Raises:
        RehearsalError: it runs.
    """
    with exclusive(machine.lock):
        if running(machine):
            raise RehearsalError(f"{machine.directory}: it runs, and reaches others")
        machine = replace(state.load(machine.directory), isolated=True)
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


def start(machine: Machine) -> Machine:
    """Start it and its registries, or leave them running; give the record.

    The port that leads to its sshd may be another one now; the registries' are the same.

    Raises:
        RehearsalError: QEMU or a registry did not start.
    """
    accelerator = qemu.accelerator(machine.base / "vmlinuz")
    with exclusive(machine.lock):
        machine = state.load(machine.directory)
        registries.start(machine)
        if running(machine):
            return machine
        for _ in range(_PORT_TRIES):
            if not ports.is_free(machine.port):
                machine = replace(machine, port=ports.free(1)[0])
            keys.pin(machine)
            state.save(machine)
            trouble = _launch(machine, accelerator)
            if not trouble:
                return machine
            if ports.is_free(machine.port):  # then the port was not what it failed for
                break
    raise RehearsalError(f"the rehearsal machine did not start: {trouble}")


def running(machine: Machine) -> bool:
    """Whether its QEMU runs."""
    return hypervisor.pid(machine) is not None


def wait_for_ssh(
    machine: Machine, seconds: float = _READY_SECONDS, heartbeat: Heartbeat = process.silent
) -> None:
    """Wait until one can log in and the host key is the pinned one.

    Raises:
        RehearsalError: QEMU ended, or the time was over; its `log` is the console.
    """
    end = time.monotonic() + seconds
    problem = "no answer"
    while time.monotonic() < end:
        if not (running(machine) or _back_after_reset(machine)):
            raise RehearsalError(
                f"the rehearsal machine ended while it booted: see {machine.console}",
                machine.console,
            )
        if ssh.answers(machine):
            login = ssh.run(machine, ["true"])
            if login.returncode == 0:
                return
            problem = login.stderr.strip()[-300:] or f"status {login.returncode}"
        heartbeat(_last_words(machine))
        time.sleep(0.5)
    raise RehearsalError(
        f"no login on the rehearsal machine after {seconds:.0f} s ({problem}; its last words:"
        f" {_last_words(machine)}): see {machine.console}",
        machine.console,
    )


def stop(machine: Machine, seconds: float = _POWER_OFF_SECONDS) -> None:
    """Press the power button and wait for the guest; QEMU is ended if the guest does not react.

    Its registries end too.
    """
    with exclusive(machine.lock):
        if running(machine):
            monitor.execute(machine.monitor, "system_powerdown")
            if not hypervisor.wait_for_end(machine, seconds):
                hypervisor.end(machine)
        registries.end(machine)


def kill(machine: Machine) -> None:
    """A power cut: SIGKILL to QEMU. What the guest had not flushed is lost."""
    hypervisor.kill(machine)


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


def snapshot(machine: Machine, name: str) -> None:
    """Keep the running machine's whole state, memory included, under a name.

    Raises:
        RehearsalError: it does not run, or QEMU refused.
        ValueError: the name is not a plain word.
    """
    _monitor_line(machine, qemu.snapshot_command("savevm", name))


def restore(machine: Machine, name: str) -> None:
    """Go back to a snapshot and set the guest's clock; open ssh connections to it are dead then.

    Raises:
        RehearsalError: it does not run, there is no such snapshot, or it cannot be logged in.
        ValueError: the name is not a plain word.
    """
    command = qemu.snapshot_command("loadvm", name)
    if name not in snapshots(machine):  # QEMU would refuse too, but leave the guest standing still
        raise RehearsalError(f"{machine.directory}: no snapshot {name}")
    _monitor_line(machine, command)
    clock = ssh.run(machine, ["sudo", "date", "--set", f"@{time.time():.0f}"])
    if clock.returncode:
        raise RehearsalError(f"the guest's clock could not be set: {clock.stderr.strip()}")


def snapshots(machine: Machine) -> list[str]:
    """Names of the running machine's snapshots."""
    return qemu.snapshot_names(monitor.type_line(machine.monitor, "info snapshots"))


def _back_after_reset(machine: Machine) -> bool:
    """Whether a QEMU that has ended is started again, as it is when the guest reboots."""
    time.sleep(_RESET_SECONDS)
    return running(machine)


def _monitor_line(machine: Machine, line: str) -> None:
    answer = monitor.type_line(machine.monitor, line)
    if answer:
        raise RehearsalError(f"QEMU: {line}: {answer}")


def _launch(machine: Machine, accelerator: tuple[str, ...]) -> str:
    """What QEMU complained about; nothing when it runs."""
    machine.console.unlink(missing_ok=True)
    command = qemu.start_command(machine, accelerator)
    try:
        started = subprocess.run(
            command, cwd=machine.directory,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_START_SECONDS, check=False,
        )  # fmt: skip
    except OSError as error:
        return f"{qemu.PROGRAM}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"{qemu.PROGRAM}: nothing for {_START_SECONDS:.0f} s"
    if started.returncode == 0:
        reset.watch(machine, command)
        return ""
    return started.stderr.strip() or f"{qemu.PROGRAM} ended with status {started.returncode}"


def _overlay(base: Path, target: Path) -> None:
    made = subprocess.run(
        ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", str(base), str(target)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if made.returncode:
        raise RehearsalError(f"{target}: qemu-img: {made.stderr.strip()}")


def _last_words(machine: Machine) -> str:
    lines = process.tail(machine.console, 1)
    return lines[0] if lines else "firmware"


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
