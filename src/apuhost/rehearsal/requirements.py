"""What this machine must have before a rehearsal: all problems at once, each with its fix."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from apuhost import debian
from apuhost.errors import ApuhostError
from apuhost.rehearsal import image, process, qemu
from apuhost.rehearsal.process import Heartbeat

# Debian packages by the program or file that they bring.
PROGRAMS = {
    "docker-registry": "docker-registry",
    "mke2fs": "e2fsprogs",
    "mkfs.vfat": "dosfstools",
    "mmdebstrap": "mmdebstrap",
    "openssl": "openssl",
    "parted": "parted",
    "qemu-img": "qemu-utils",
    qemu.PROGRAM: "qemu-system-x86",
    "skopeo": "skopeo",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "zstd": "zstd",
}
USER_PROGRAMS = {"newuidmap": "uidmap"}  # root of a user namespace, for who is not root
FILES = {
    qemu.FIRMWARE: "ovmf",
    qemu.FIRMWARE_VARIABLES: "ovmf",
    image.KEYRING: "debian-archive-keyring",
}

_GIB = 1024**3
DISK_BYTES = 6 * _GIB
MEMORY_BYTES = 3 * _GIB


class RequirementsError(ApuhostError):
    """This machine lacks something; the message names all of it."""


def missing_packages() -> list[str]:
    """Debian packages to install, sorted; none when all is there."""
    programs = PROGRAMS if os.geteuid() == 0 else PROGRAMS | USER_PROGRAMS
    path = process.search_path()
    lacking = {package for name, package in programs.items() if not shutil.which(name, path=path)}
    lacking |= {package for file, package in FILES.items() if not file.exists()}
    return sorted(lacking)


def ensure_packages(log: Path, heartbeat: Heartbeat = process.silent) -> list[str]:
    """Install what is missing when root (apt's output goes to `log`); give what was installed.

    Raises:
        RequirementsError: not root: the message holds the one line to type.
        RehearsalError: apt-get failed; its `log` says why.
    """
    packages = missing_packages()
    if packages and os.geteuid() != 0:
        raise RequirementsError(f"packages are missing: run {install_line(packages)}")
    if packages:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for command in apt_commands(packages):
            process.run(command, log=log, heartbeat=heartbeat)
    return packages


def apt_commands(packages: Sequence[str]) -> list[list[str]]:
    """Fresh lists, then the packages; nothing is asked, another apt's lock is waited for."""
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y",
           "-o", "DPkg::Lock::Timeout=300"]  # fmt: skip
    return [[*apt, "update"], [*apt, "install", "--no-install-recommends", *packages]]


def check_resources(cache: Path, directory: Path, *, image_cached: bool) -> None:
    """Disk under cache and state, memory, a Debian mirror.

    Raises:
        RequirementsError: all that is missing, in one line.
    """
    problems = [
        *disk_problems({folder: _free_bytes(folder) for folder in (cache, directory)}),
        *memory_problems(available_memory(Path("/proc/meminfo").read_text(encoding="ascii"))),
    ]
    if not image_cached:
        problems += _mirror_problems()
    if problems:
        raise RequirementsError("; ".join(problems))


def disk_problems(free: dict[Path, int]) -> list[str]:
    """One sentence for each folder with less than DISK_BYTES free (bytes)."""
    return [
        f"{folder} has {size / _GIB:.1f} GiB free, {DISK_BYTES // _GIB} GiB are needed:"
        " free some, or set XDG_CACHE_HOME and XDG_STATE_HOME to a larger disk"
        for folder, size in free.items()
        if size < DISK_BYTES
    ]


def memory_problems(available: int | None) -> list[str]:
    """A sentence when fewer than MEMORY_BYTES are available (bytes; None: unknown, no problem)."""
    if available is None or available >= MEMORY_BYTES:
        return []
    return [f"{available / _GIB:.1f} GiB of memory are available, {MEMORY_BYTES // _GIB} GiB are"
            " needed: end other programs"]  # fmt: skip


def available_memory(meminfo: str) -> int | None:
    """MemAvailable of /proc/meminfo in bytes."""
    for line in meminfo.splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if name == "MemAvailable" and words and words[0].isdigit():
            return int(words[0]) * 1024
    return None


def _mirror_problems() -> list[str]:
    try:
        debian.debian_mirror()
    except debian.NoMirrorError as error:
        return [str(error)]
    return []


def _free_bytes(folder: Path) -> int:
    """Free space where the folder is, or will be made."""
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return shutil.disk_usage(there).free


def install_line(packages: Sequence[str]) -> str:
    """What an operator types."""
    return f"sudo apt-get install {' '.join(packages)}"
