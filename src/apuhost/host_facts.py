"""HostFacts: everything the probes read on a host, by one script in one round trip.

All hosts are asked at once. The raw text is kept: it can be saved, loaded elsewhere, and read
again by the same parsers.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TypeVar

from apuhost.errors import ApuhostError
from apuhost.probes import (
    ParseError,
    boot,
    cmdline,
    disk,
    gpus,
    grub,
    grub_cfg,
    iommu,
    kernel,
    loader,
    machine,
    meminfo,
    modprobe,
    modules,
    os_release,
)
from apuhost.probes.pairs import whole_number

PROBES: Mapping[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        machine,
        os_release,
        kernel,
        cmdline,
        meminfo,
        boot,
        loader,
        grub,
        grub_cfg,
        modprobe,
        modules,
        gpus,
        iommu,
        disk,
    )
}

PROBE_TIMEOUT_S = 30

Record = TypeVar("Record")


class Unreadable(ApuhostError):
    """A probe's answer is missing or cannot be read: what depends on it is unknown."""


@dataclass(frozen=True)
class Reading:
    """What one probe printed, and the exit status of its command."""

    text: str
    status: int


@dataclass(frozen=True)
class HostFacts:
    """One host's readings. A record is parsed when it is first asked for.

    Every property raises Unreadable when its reading is missing, cut or failed.
    """

    host: str
    gathered: str
    readings: Mapping[str, Reading]

    def _read(self, name: str, parse: Callable[[str], Record]) -> Record:
        reading = self.readings.get(name)
        if reading is None:
            raise Unreadable(f"{name} was not read")
        if reading.status != 0:
            raise Unreadable(f"{name}: its command failed (exit {reading.status})")
        try:
            return parse(reading.text)
        except ParseError as error:
            raise Unreadable(f"{name}: {error}") from error

    @cached_property
    def machine(self) -> machine.Machine:
        """DMI names, host name, virtualization."""
        return self._read("machine", machine.parse)

    @cached_property
    def os_release(self) -> os_release.OsRelease:
        """The distribution."""
        return self._read("os_release", os_release.parse)

    @cached_property
    def kernel(self) -> kernel.Kernels:
        """The running and the installed kernels."""
        return self._read("kernel", kernel.parse)

    @cached_property
    def cmdline(self) -> cmdline.Cmdline:
        """The booted kernel line."""
        return self._read("cmdline", cmdline.parse)

    @cached_property
    def meminfo(self) -> meminfo.Meminfo:
        """How much memory the kernel manages."""
        return self._read("meminfo", meminfo.parse)

    @cached_property
    def boot(self) -> boot.Boot:
        """This boot's id and time."""
        return self._read("boot", boot.parse)

    @cached_property
    def loader(self) -> loader.Loader:
        """The boot loader in charge."""
        return self._read("loader", loader.parse)

    @cached_property
    def grub(self) -> grub.GrubFiles:
        """/etc/default/grub and its drop-ins."""
        return self._read("grub", grub.parse)

    @cached_property
    def grub_cfg(self) -> grub_cfg.GrubCfg:
        """The boot menu that GRUB reads next."""
        return self._read("grub_cfg", grub_cfg.parse)

    @cached_property
    def modprobe(self) -> modprobe.Modprobe:
        """Module options and blacklists."""
        return self._read("modprobe", modprobe.parse)

    @cached_property
    def modules(self) -> modules.Modules:
        """Live module parameters."""
        return self._read("modules", modules.parse)

    @cached_property
    def gpus(self) -> gpus.Gpus:
        """Display controllers."""
        return self._read("gpus", gpus.parse)

    @cached_property
    def iommu(self) -> iommu.Iommu:
        """The IOMMU at work."""
        return self._read("iommu", iommu.parse)

    @cached_property
    def disk(self) -> disk.Disk:
        """Free space."""
        return self._read("disk", disk.parse)


def script(mark: str) -> str:
    """The one script that runs every probe; `mark` frames what each one prints.

    The mark is new for every run, so that no file's content can imitate it.
    """
    lines = [
        "export LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        f"""probe() {{
  printf '{mark} begin %s\\n' "$1"
  timeout {PROBE_TIMEOUT_S} sh -c "$2" 2>/dev/null </dev/null
  printf '\\n{mark} end %s %d\\n' "$1" "$?"
}}""",
    ]
    lines += [f"probe {name} {shlex.quote(module.COMMAND)}" for name, module in PROBES.items()]
    return "\n".join(lines)


def unframe(mark: str, text: str) -> dict[str, Reading]:
    """The readings in the script's output; what was cut off before its end mark is left out."""
    readings = {}
    for name in PROBES:
        _, began, rest = text.partition(f"{mark} begin {name}\n")
        body, ended, tail = rest.partition(f"\n{mark} end {name} ")
        number, whole, _ = tail.partition("\n")
        status = whole_number(number)
        if began and ended and whole and status is not None:
            readings[name] = Reading(body, status)
    return readings
