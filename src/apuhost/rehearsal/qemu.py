"""QEMU's command lines, and which accelerator works on this machine."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from apuhost.rehearsal.process import ENDS_WITH_US
from apuhost.rehearsal.state import Machine

PROGRAM = "qemu-system-x86_64"
NAME = "apuhost-rehearsal"
FIRMWARE = Path("/usr/share/OVMF/OVMF_CODE_4M.fd")
FIRMWARE_VARIABLES = Path("/usr/share/OVMF/OVMF_VARS_4M.fd")

MEMORY_MIB = 2048
CPUS = 2
EMULATION = ("-accel", "tcg,thread=multi", "-cpu", "max")
# A kernel that calls its clock stable rewrites code that its other processor runs at that moment:
# under emulation in several threads that is a race, and one boot of about fifteen died of it (int3
# in sched_clock_cpu, QEMU 7.2). The base image's GRUB has the same word.
CLOCK = "tsc=unstable"
VIRTUALISATION = ("-accel", "kvm", "-cpu", "host")
# Only what the guest uses: every other device costs a driver to load at each boot.
_MACHINE = ("-machine", "q35,sata=off", "-nodefaults", "-display", "none", "-vga", "none")
_SIZE = ("-smp", str(CPUS), "-m", str(MEMORY_MIB))
_PROBE_SECONDS = 8
_PROBE_SUCCESS = b"Unable to mount root fs"


def start_command(machine: Machine, accelerator: Sequence[str]) -> list[str]:
    """The machine as it runs: real UEFI firmware, its own GRUB, ssh on 127.0.0.1 only.

    Runs in the machine's folder, where the QMP socket is named relatively: the path of a Unix
    socket has 107 bytes at most. The disk's cache is QEMU's default, writeback: what the guest has
    flushed survives a killed QEMU, so that a power cut can be rehearsed honestly.
    """
    network = "restrict=on," if machine.isolated else ""
    return [
        PROGRAM, "-name", NAME, *_MACHINE, *accelerator, *_SIZE,
        "-drive", f"if=pflash,format=raw,readonly=on,file={_value(FIRMWARE)}",
        "-drive", f"if=pflash,format=qcow2,file={_value(machine.firmware_variables)}",
        "-drive", f"if=none,id=disk,format=qcow2,file={_value(machine.disk)}",
        "-device", "virtio-blk-pci,drive=disk,bootindex=0",
        "-netdev", f"user,id=net,{network}hostfwd=tcp:127.0.0.1:{machine.port}-:22",
        "-device", "virtio-net-pci,netdev=net,romfile=", *_cable(machine),
        "-fw_cfg", "name=opt/io.systemd.credentials/tmpfiles.extra,"
                   f"file={_value(machine.credentials)}",
        "-chardev", f"file,id=console,path={_value(machine.console)}",
        "-serial", "chardev:console",
        "-qmp", f"unix:{machine.monitor.name},server=on,wait=off",
        "-no-reboot", "-daemonize", "-pidfile", str(machine.pid_file),
    ]  # fmt: skip


def first_boot_command(folder: Path, accelerator: Sequence[str]) -> list[str]:
    """The base image's one boot without a boot loader: to install the boot loader."""
    return [
        *ENDS_WITH_US, PROGRAM, *_MACHINE, *accelerator, *_SIZE, "-no-reboot",
        "-drive", f"if=virtio,format=raw,cache=unsafe,file={_value(folder / 'disk.raw')}",
        "-serial", "stdio",
        "-kernel", str(folder / "vmlinuz"), "-initrd", str(folder / "initrd"),
        "-append", "root=LABEL=rootfs rw console=ttyS0 net.ifnames=0 panic=-1"
                   f" {CLOCK} init=/usr/local/sbin/first-boot",
    ]  # fmt: skip


def probe_command(kernel: Path, accelerator: Sequence[str]) -> list[str]:
    """A boot of the bare kernel, which panics for want of a root file system when all is well."""
    return [
        *ENDS_WITH_US, PROGRAM, *_MACHINE, *accelerator, "-m", "512", "-no-reboot",
        "-serial", "stdio", "-kernel", str(kernel), "-append", "console=ttyS0 panic=-1",
    ]  # fmt: skip


def snapshot_command(verb: str, name: str) -> str:
    """A line for QEMU's own monitor.

    Raises:
        ValueError: the name is not a plain word (the monitor would read it as something else).
    """
    if not (name.isascii() and name.replace("-", "").isalnum() and name[0].isalpha()):
        raise ValueError(f"snapshot {name!r}: letters, digits and - only")
    return f"{verb} {name}"


def snapshot_names(text: str) -> list[str]:
    """The names in what the monitor's `info snapshots` prints (columns ID, TAG, size, date)."""
    rows = [line.split() for line in text.splitlines()]
    return [row[1] for row in rows if len(row) > 1 and (row[0] == "--" or row[0].isdigit())]


def is_ours(arguments: Sequence[str], machine: Machine) -> bool:
    """Whether a process with this command line is that machine's QEMU."""
    disk = f"if=none,id=disk,format=qcow2,file={_value(machine.disk)}"
    return bool(arguments) and Path(arguments[0]).name == PROGRAM and disk in arguments


@functools.lru_cache(maxsize=1)
def accelerator(kernel: Path) -> tuple[str, ...]:
    """KVM where a kernel really boots under it, else emulation. The answer holds for this process.

    /dev/kvm may exist and yet be of no use (nested, or a half-emulated one): so it is tried.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return EMULATION
    try:
        probe = subprocess.run(
            probe_command(kernel, VIRTUALISATION), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=_PROBE_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return EMULATION
    return VIRTUALISATION if _PROBE_SUCCESS in probe.stdout else EMULATION


def _cable(machine: Machine) -> tuple[str, ...]:
    """A second network card whose frames go as UDP to another machine here, whenever that runs."""
    near, far = machine.cable
    if not near:
        return ()
    address = f"52:54:00:00:{near >> 8:02x}:{near & 0xFF:02x}"  # QEMU gives all the same one
    return (
        "-netdev", f"socket,id=cable,udp=127.0.0.1:{far},localaddr=127.0.0.1:{near}",
        "-device", f"virtio-net-pci,netdev=cable,romfile=,mac={address}",
    )  # fmt: skip


def _value(path: Path) -> str:
    """A path inside one of QEMU's comma-separated options."""
    return str(path).replace(",", ",,")
