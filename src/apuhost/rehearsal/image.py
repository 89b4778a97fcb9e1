"""The base image: Debian 13 made from packages, bootable by UEFI through its own GRUB.

No loop device is needed: partitions are made in a file, the root file system is filled by
`mke2fs -d` at its place in it. Only the boot loader needs a running machine, hence one boot.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from apuhost.debian import debian_mirror
from apuhost.locks import exclusive
from apuhost.rehearsal import process, qemu
from apuhost.rehearsal.process import Heartbeat, RehearsalError

SUITE = "trixie"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
RECIPE = Path(__file__).parent / "recipe"
# linux-image-amd64 carries amdgpu and ttm; Debian's cloud kernel does not.
PACKAGES = (
    "ca-certificates", "dbus", "e2fsprogs", "grub-efi-amd64", "initramfs-tools", "iproute2",
    "kmod", "linux-image-amd64", "netbase", "openssh-server", "pciutils", "python3", "sudo",
    "systemd-sysv", "udev", "zstd",
)  # fmt: skip
# What a deploy installs, and only that: downloaded, never installed here.
DOWNLOADED = (
    "docker-cli", "docker-compose", "docker.io", "firmware-amd-graphics", "iptables",
    "mesa-vulkan-drivers", "vulkan-tools",
)  # fmt: skip
_LEFT_OUT = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*")

_MIB = 1024**2
DISK_MIB = 18 * 1024  # room for Docker, Mesa and a model later; sparse
_ESP_START_MIB, _ESP_MIB = 1, 64
_ROOT_START_MIB = _ESP_START_MIB + _ESP_MIB
_ROOT_MIB = DISK_MIB - _ROOT_START_MIB - 1  # the last MiB holds the second partition table

_FIRST_BOOT_SECONDS = 240
_FIRST_BOOT_DONE = "apuhost-first-boot-complete"
_KEPT_UNUSED_SECONDS = 14 * 24 * 3600  # another checkout's machine may still stand on it


@dataclass(frozen=True)
class BaseImage:
    """A finished base image; `directory` is there only when it is complete."""

    directory: Path

    @property
    def disk(self) -> Path:
        """What the machines' disks are overlays of (qcow2)."""
        return self.directory / "disk.qcow2"

    @property
    def firmware_variables(self) -> Path:
        """The firmware's variables as shipped (qcow2)."""
        return self.directory / "uefi-variables.qcow2"

    @property
    def kernel(self) -> Path:
        """The guest's kernel, for the accelerator's probe boot."""
        return self.directory / "vmlinuz"


def key(mirror: str) -> str:
    """Names the image by all that builds it: recipe, package list, sizes, commands, mirror."""
    digest = hashlib.sha256(mirror.encode())
    for path in [Path(__file__), Path(qemu.__file__), *sorted(RECIPE.iterdir())]:
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def cached(cache: Path) -> BaseImage | None:
    """The image that this recipe makes, if it is there already."""
    image = BaseImage(_place(cache, debian_mirror()))
    return image if image.directory.is_dir() else None


def ensure(cache: Path, heartbeat: Heartbeat = process.silent) -> BaseImage:
    """The base image, built if need be; a second caller waits for the first and shares it.

    Raises:
        RehearsalError: a step of the build failed; its `log` holds all output.
        NoMirrorError: this machine's apt sources name no Debian mirror.
    """
    mirror = debian_mirror()
    place = _place(cache, mirror)
    with exclusive(cache / "base.lock"):
        if not place.is_dir():
            _remove_unfinished(cache)
            _build(place, mirror, heartbeat)
            _remove_unused(cache, place)
        os.utime(place)
    return BaseImage(place)


def _place(cache: Path, mirror: str) -> Path:
    return cache / f"base-{key(mirror)}"


def _build(place: Path, mirror: str, heartbeat: Heartbeat) -> None:
    """Under a temporary name until complete: an interrupted build never looks finished."""
    work = Path(tempfile.mkdtemp(prefix="unfinished-", dir=place.parent))
    log = place.parent / "build.log"
    log.unlink(missing_ok=True)
    tree, raw = work / "tree", work / "disk.raw"

    process.run(tree_command(tree, mirror), log=log, heartbeat=heartbeat)
    for name in ("vmlinuz", "initrd"):
        shutil.copyfile(_only(tree / "boot", f"{name}*-*"), work / name)
    for command in disk_commands(raw, tree):
        process.run(command, log=log, heartbeat=heartbeat)
    _first_boot(work, log, heartbeat)
    for command in conversion_commands(work):
        process.run(command, log=log, heartbeat=heartbeat)
    process.run([*as_root(), "rm", "-rf", str(tree)], log=log)
    raw.unlink()
    (work / "initrd").unlink()
    work.rename(place)


def _first_boot(work: Path, log: Path, heartbeat: Heartbeat) -> None:
    command = qemu.first_boot_command(work, qemu.accelerator(work / "vmlinuz"))
    process.run(command, log=log, seconds=_FIRST_BOOT_SECONDS, heartbeat=heartbeat)
    if _FIRST_BOOT_DONE not in "\n".join(process.tail(log)):
        raise RehearsalError(f"the base image's boot loader was not installed: see {log}", log)


def as_root() -> list[str]:
    """Before a command that needs root's view of file owners; an own mount and process namespace.

    An ordinary user becomes root of a user namespace (needs uidmap's newuidmap). All of it ends
    with apuhost, mounts included.
    """
    user = [] if os.geteuid() == 0 else ["--map-root-user", "--map-auto"]
    namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return [*process.ENDS_WITH_US, "unshare", *user, *namespaces]


def tree_command(tree: Path, mirror: str) -> list[str]:
    """Unpack and set up Debian in `tree`. Debian's keyring verifies every package."""
    return [
        *as_root(), "mmdebstrap", "--mode=root", "--format=directory", "--variant=minbase",
        "--architectures=amd64", f"--include={','.join(PACKAGES)}",
        "--dpkgopt=force-unsafe-io", *(f"--dpkgopt=path-exclude={path}" for path in _LEFT_OUT),
        "--aptopt=Acquire::Languages \"none\"", "--skip=cleanup/apt",
        f"--essential-hook=sh '{RECIPE}/before-packages.sh' \"$1\"",
        f"--customize-hook=sh '{RECIPE}/apt.sh' \"$1\" {' '.join(DOWNLOADED)}",
        f"--customize-hook=sh '{RECIPE}/after-packages.sh' \"$1\"",
        SUITE, str(tree), *sources(mirror),
    ]  # fmt: skip


def sources(mirror: str) -> list[str]:
    """The build's apt sources; the recipe leaves the guest less of them.

    Backports expire after a week. A mirror that stands still shall not end rehearsals, and what it
    gives is signed all the same.
    """
    return [
        f"deb [signed-by={KEYRING}] {mirror} {SUITE} main non-free-firmware",
        f"deb [signed-by={KEYRING} check-valid-until=no] {mirror} {SUITE}-backports main",
    ]


def disk_commands(raw: Path, tree: Path) -> list[list[str]]:
    """A GPT disk in a file: an EFI system partition and ext4, filled from `tree`."""
    root_offset, root_kib = _ROOT_START_MIB * _MIB, _ROOT_MIB * 1024
    esp_sector, esp_kib = _ESP_START_MIB * _MIB // 512, _ESP_MIB * 1024
    return [
        ["truncate", "--size", f"{DISK_MIB}M", str(raw)],
        ["parted", "--script", str(raw), "mklabel", "gpt",
         "mkpart", "ESP", "fat32", f"{_ESP_START_MIB}MiB", f"{_ROOT_START_MIB}MiB",
         "set", "1", "esp", "on",
         "mkpart", "root", "ext4", f"{_ROOT_START_MIB}MiB", f"{_ROOT_START_MIB + _ROOT_MIB}MiB"],
        ["mkfs.vfat", "-F", "32", "-s", "1", "-n", "ESP", f"--offset={esp_sector}",
         str(raw), str(esp_kib)],
        [*as_root(), "mke2fs", "-q", "-F", "-t", "ext4", "-L", "rootfs", "-i", "32768",
         "-d", str(tree), "-E", f"offset={root_offset}", str(raw), f"{root_kib}k"],
    ]  # fmt: skip


def conversion_commands(work: Path) -> list[list[str]]:
    """Disk and firmware variables as qcow2: both must be, for snapshots of a running machine."""
    pairs = [(work / "disk.raw", work / "disk.qcow2"),
             (qemu.FIRMWARE_VARIABLES, work / "uefi-variables.qcow2")]  # fmt: skip
    return [["qemu-img", "convert", "-f", "raw", "-O", "qcow2", str(source), str(target)]
            for source, target in pairs]  # fmt: skip


def _only(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise RehearsalError(f"{folder}: one {pattern} expected, {len(found)} found")
    return found[0]


def _remove_unfinished(cache: Path) -> None:
    """What a killed build left; nobody builds now, since the lock is ours."""
    for folder in cache.glob("unfinished-*"):
        subprocess.run([*as_root(), "rm", "-rf", str(folder)], check=False)


def _remove_unused(cache: Path, place: Path) -> None:
    for folder in cache.glob("base-*"):
        if folder != place and time.time() - folder.stat().st_mtime > _KEPT_UNUSED_SECONDS:
            shutil.rmtree(folder)
