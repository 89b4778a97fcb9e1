"""HostFacts: everything the probes read on a host, each a record.

The raw text is kept: it can be saved, loaded elsewhere, and read again by the same parsers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from apuhost.errors import ApuhostError
from apuhost.last_report import LastReport
from apuhost.probes import (
    ParseError,
    accounts,
    apt_sources,
    boot,
    boots,
    cmdline,
    compose,
    container_packages,
    containers,
    cpuinfo,
    daemon_json,
    disk,
    dmi_memory,
    docker,
    dpkg_status,
    firewall,
    generation,
    gpu_firmware,
    gpus,
    grub,
    grub_cfg,
    iommu,
    kernel,
    kernel_log,
    loader,
    machine,
    meminfo,
    mirror,
    mirror_answers,
    mirror_serving,
    model_blobs,
    model_store,
    modprobe,
    modules,
    nodes,
    ollama_api,
    ollama_log,
    os_release,
    packages,
    repetition,
    runners,
    units,
    vulkaninfo,
)
from apuhost.round_trip import Reading

Record = TypeVar("Record")


class Unreadable(ApuhostError):
    """A probe's answer is missing or cannot be read: what depends on it is unknown."""


@dataclass(frozen=True)
class HostFacts:
    """One host's readings. A record is parsed when it is first asked for.

    Every property raises Unreadable when its reading is missing, cut or failed. `last` is what was
    seen when this host was last reported on, where that is known; `saved` tells that each reading
    is a file of a folder, and `lost` why some of these cannot be had.
    """

    host: str
    gathered: str
    readings: Mapping[str, Reading]
    last: LastReport | None = None
    saved: bool = False
    lost: Mapping[str, str] = field(default_factory=dict)

    def _read(self, name: str, parse: Callable[[str], Record]) -> Record:
        reading = self.readings.get(name)
        if reading is None:
            missing = f"{name}.txt is not there" if self.saved else f"{name} was not read"
            raise Unreadable(self.lost.get(name, missing))
        source = f"{name}.txt" if self.saved else name
        if reading.status != 0:
            raise Unreadable(f"{source}: its command failed (exit {reading.status})")
        try:
            return parse(reading.text)
        except ParseError as error:
            raise Unreadable(f"{source}: {error}") from error

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
    def gpu_firmware(self) -> gpu_firmware.GpuFirmware:
        """The firmware that the GPUs run."""
        return self._read("gpu_firmware", gpu_firmware.parse)

    @cached_property
    def iommu(self) -> iommu.Iommu:
        """The IOMMU at work."""
        return self._read("iommu", iommu.parse)

    @cached_property
    def cpuinfo(self) -> cpuinfo.Cpu:
        """The processor."""
        return self._read("cpuinfo", cpuinfo.parse)

    @cached_property
    def dmi_memory(self) -> dmi_memory.DmiMemory:
        """The memory modules."""
        return self._read("dmi_memory", dmi_memory.parse)

    @cached_property
    def kernel_log(self) -> kernel_log.KernelLog:
        """What the kernel logged since this boot began."""
        return self._read("kernel_log", kernel_log.parse)

    @cached_property
    def disk(self) -> disk.Disk:
        """Free space."""
        return self._read("disk", disk.parse)

    @cached_property
    def packages(self) -> packages.Packages:
        """Installed packages."""
        return self._read("packages", packages.parse)

    @cached_property
    def dpkg_status(self) -> dpkg_status.DpkgStatus:
        """Dpkg's database, of facts that were saved."""
        return self._read("dpkg_status", dpkg_status.parse)

    @cached_property
    def apt_sources(self) -> apt_sources.AptSources:
        """Where apt takes packages from."""
        return self._read("apt_sources", apt_sources.parse)

    @cached_property
    def accounts(self) -> accounts.Accounts:
        """Users, and who is in which group."""
        return self._read("accounts", accounts.parse)

    @cached_property
    def nodes(self) -> nodes.Nodes:
        """The GPU's device nodes."""
        return self._read("nodes", nodes.parse)

    @cached_property
    def vulkaninfo(self) -> vulkaninfo.Vulkaninfo:
        """Vulkan's devices on the host."""
        return self._read("vulkaninfo", vulkaninfo.parse)

    @cached_property
    def docker(self) -> docker.Docker:
        """The container engine."""
        return self._read("docker", docker.parse)

    @cached_property
    def daemon_json(self) -> daemon_json.DockerFiles:
        """daemon.json and the drop-ins of docker.service."""
        return self._read("daemon_json", daemon_json.parse_files_of)

    @cached_property
    def containers(self) -> containers.Containers:
        """Containers, images, volumes."""
        return self._read("containers", containers.parse)

    @cached_property
    def container_packages(self) -> container_packages.ContainerPackages:
        """Packages in Ollama's container."""
        return self._read("container_packages", container_packages.parse)

    @cached_property
    def compose(self) -> compose.Compose:
        """Compose files."""
        return self._read("compose", compose.parse)

    @cached_property
    def ollama_api(self) -> ollama_api.OllamaApi:
        """What Ollama itself answers."""
        return self._read("ollama_api", ollama_api.parse)

    @cached_property
    def model_store(self) -> model_store.ModelStore:
        """Models as files."""
        return self._read("model_store", model_store.parse)

    @cached_property
    def model_blobs(self) -> model_blobs.ModelBlobs:
        """The digests that models' files really have."""
        return self._read("model_blobs", model_blobs.parse)

    @cached_property
    def runners(self) -> runners.Processes:
        """Ollama's processes."""
        return self._read("runners", runners.parse_processes)

    @cached_property
    def ollama_log(self) -> ollama_log.OllamaLog:
        """What Ollama logged since its start."""
        return self._read("ollama_log", ollama_log.parse)

    @cached_property
    def units(self) -> units.Units:
        """Systemd units and files of ours."""
        return self._read("units", units.parse)

    @cached_property
    def firewall(self) -> firewall.Firewall:
        """Rules for published ports, and who listens."""
        return self._read("firewall", firewall.parse)

    @cached_property
    def mirror(self) -> mirror.Mirror:
        """The site's mirror, as this host knows it."""
        return self._read("mirror", mirror.parse)

    @cached_property
    def mirror_serving(self) -> mirror_serving.Serving:
        """What a mirror's host keeps and serves."""
        return self._read("mirror_serving", mirror_serving.parse)

    @cached_property
    def mirror_answers(self) -> mirror_answers.MirrorAnswers:
        """What apt and Docker answer of it."""
        return self._read("mirror_answers", mirror_answers.parse)

    @cached_property
    def boots(self) -> boots.Boots:
        """What the host saved of its boots."""
        return self._read("boots", boots.parse)

    @cached_property
    def generation(self) -> generation.Generation:
        """A token of every loaded model."""
        return self._read("generation", generation.parse)

    @cached_property
    def repetition(self) -> repetition.Repetition:
        """One prompt twice to every loaded model."""
        return self._read("repetition", repetition.parse)
