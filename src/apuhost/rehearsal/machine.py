"""The rehearsal machine at work: started, reached, stopped, its power cut."""

from __future__ import annotations

import subprocess
import time
from dataclasses import replace

from apuhost.locks import exclusive
from apuhost.rehearsal import (
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
)
from apuhost.rehearsal.process import Heartbeat, RehearsalError
from apuhost.rehearsal.state import Machine

_PORT_TRIES = 5
_READY_SECONDS = 480.0  # of a boot: 40 in emulation, many times that on a busy machine
_POWER_OFF_SECONDS = 90.0
_START_SECONDS = 30.0
_RESET_SECONDS = 3.0


def isolate(machine: Machine, cable: tuple[int, int] = (0, 0)) -> Machine:
    """Let it reach nobody from its next start on, but the other end of a cable; ssh still leads in.

    Raises:
        RehearsalError: it runs.
    """
    with exclusive(machine.lock):
        if running(machine):
            raise RehearsalError(f"{machine.directory}: it runs, and reaches others")
        machine = replace(state.load(machine.directory), isolated=True, cable=cable)
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


def _back_after_reset(machine: Machine) -> bool:
    """Whether a QEMU that has ended is started again, as it is when the guest reboots."""
    time.sleep(_RESET_SECONDS)
    return running(machine)


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


def _last_words(machine: Machine) -> str:
    lines = process.tail(machine.console, 1)
    return lines[0] if lines else "firmware"
