"""The box itself: its distribution, kernel, boot loader, hardware, packages and accounts."""

from functools import cached_property

from apuhost.probes import (
    accounts,
    apt_sources,
    boot,
    cmdline,
    cpuinfo,
    disk,
    dmi_memory,
    dpkg_status,
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
    modprobe,
    modules,
    nodes,
    os_release,
    packages,
    vulkaninfo,
)
from apuhost.records import Records


class BoxRecords(Records):
    """What is there without apuhost, too."""

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
