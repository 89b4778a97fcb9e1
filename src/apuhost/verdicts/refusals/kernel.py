"""What the kernel role must not be deployed to, and why."""

from collections.abc import Callable, Iterator, Mapping

from apuhost import hazards, sizing
from apuhost.changes import kernel as changes
from apuhost.derived import Derived, key_of
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes import cmdline, grub
from apuhost.probes.kernel import InstalledKernel
from apuhost.verdicts.refusals.topic import Refusal

MIB = 1024 * 1024
ROOT_BYTES = 64 * MIB
BOOT_BYTES = 32 * MIB
INITRAMFS_BYTES = 256 * MIB
"""update-initramfs writes the new image beside the old one; Ubuntu's are up to 200 MB."""

LINE_BYTES = 1800
"""x86 reads 2048 bytes (COMMAND_LINE_SIZE); BOOT_IMAGE, root= and the like need some of them."""

GPU_MODULES = frozenset({"amdgpu", "ttm"})
EXTLINUX = "/boot/extlinux/extlinux.conf"
GRUB_TOOLS = frozenset({"grub-mkconfig", "grub-script-check"})


def _boot_loader(_: Derived, facts: HostFacts) -> Iterator[str]:
    loader = facts.loader
    if loader.info and "GRUB" not in loader.info.upper():
        yield f"boots with {loader.info}, not GRUB"
    elif "/etc/kernel/proxmox-boot-uuids" in loader.files:
        yield "proxmox-boot-tool is in charge of its boot loader, not update-grub"
    elif "/etc/kernelstub/configuration" in loader.files:
        yield "kernelstub is in charge of its boot loader, not GRUB"
    elif EXTLINUX in loader.files and not loader.efi:
        yield "extlinux is in charge of its boot loader, not GRUB"
    elif missing := sorted(GRUB_TOOLS - loader.tools):
        package = "grub-efi-amd64" if loader.efi else "grub-pc"
        yield f"has no GRUB: {', '.join(missing)} not found (apt-get install {package})"
    elif changes.GRUB_CFG not in loader.files or changes.GRUB_DEFAULTS not in loader.files:
        yield f"has no GRUB menu: {_missing_menu_file(loader.files)}"
    elif "BOOT_IMAGE" not in facts.cmdline:
        yield "was not booted by GRUB (no BOOT_IMAGE on its kernel line)"


def _missing_menu_file(files: frozenset[str]) -> str:
    if changes.GRUB_CFG not in files:
        return f"{changes.GRUB_CFG} is missing (update-grub writes it)"
    return f"{changes.GRUB_DEFAULTS} is missing (reinstall GRUB's package)"


def _kernel_flavour(_: Derived, facts: HostFacts) -> Iterator[str]:
    kernel = _next_kernel(facts)
    missing = GPU_MODULES - kernel.modules
    if missing and "amdttm" not in kernel.modules:
        yield (
            f"kernel {kernel.release} has no {' and no '.join(sorted(missing))}: "
            f"{_full_kernel(facts)}"
        )


def _next_kernel(facts: HostFacts) -> InstalledKernel:
    """The kernel of the boot menu's first entry: an older one may lie beside it unused."""
    entries = facts.grub_cfg.normal_entries
    wanted = entries[0].kernel if entries else None
    release = (wanted or "").rpartition("/vmlinuz-")[2] or facts.kernel.running
    found = next((each for each in facts.kernel.installed if each.release == release), None)
    if found is None:
        source = changes.GRUB_CFG if entries else "the running kernel line"
        raise Unreadable(f"{source} boots {release}, and /boot has no such kernel")
    return found


def _full_kernel(facts: HostFacts) -> str:
    if facts.os_release.id == "ubuntu":
        return "install linux-generic (linux-image-virtual lacks modules-extra)"
    return "install linux-image-amd64 and remove the cloud kernel"


def _dkms(derived: Derived, facts: HostFacts) -> Iterator[str]:
    installed = "amdttm" in _next_kernel(facts).modules or "amdttm" in facts.modules.loaded
    asked = [each for each in derived.kernel_parameters if each.startswith("ttm.")]
    if asked and installed:
        yield (
            f"AMD's DKMS driver (amdttm) is installed and ignores {asked[0]}: "
            "remove amdgpu-dkms, then repeat"
        )


def _disabled_gpu(derived: Derived, facts: HostFacts) -> Iterator[str]:
    gpus = [gpu.ids for gpu in facts.gpus.amd]
    yield from _hazards(lambda argument: hazards.unbound(argument, gpus), derived, facts)
    for blacklisted in facts.modprobe.blacklisted:
        if blacklisted.module == "amdgpu":
            yield f"{blacklisted.path} blacklists amdgpu: take that line out"


def _unreachable(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """A deploy reboots: what the operator's own files say counts for that boot, too."""
    yield from _hazards(hazards.unreached, derived, facts)


def _hazards(
    judged: Callable[[cmdline.Argument], str], derived: Derived, facts: HostFacts
) -> Iterator[str]:
    for argument in _next_line(derived, facts).arguments:
        if why := judged(argument):
            where = _where(argument.key, derived, facts)
            yield f"{cmdline.join([argument])} {why}: take it out of {where}"


def _next_line(derived: Derived, facts: HostFacts) -> cmdline.Cmdline:
    """The operator's own parameters and ours: the line that a deploy leads to."""
    configured = grub.configured(facts.grub.files)
    line = f"{configured.linux} {configured.linux_default}"
    if configured.undetermined and facts.grub_cfg.normal_entries:
        line = f"{line} {facts.grub_cfg.normal_entries[0].arguments}"  # what the shell made of it
    others = cmdline.without(line, derived.managed_keys)
    return cmdline.read(" ".join((others, *derived.kernel_parameters)))


def _where(key: str, derived: Derived, facts: HostFacts) -> str:
    if key in cmdline.read(" ".join(derived.kernel_parameters)):
        return "kernel_extra_args"
    sources = grub.sources(facts.grub.files, key)
    doubtful = grub.configured(facts.grub.files).undetermined
    return ", ".join(sources or doubtful) or changes.GRUB_DEFAULTS


def _line(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """The line that the GRUB files will give must be the wanted one: else nothing is begun."""
    for path, keys, why in changes.untouched(derived, facts):
        gone = sorted(derived.removed_keys.intersection(keys))
        if gone:
            yield f"{path} sets {', '.join(gone)}, which should be gone: {why}"
    after = changes.line_after(derived, facts)
    line = cmdline.read(f"{after.linux} {after.linux_default}")
    lost = [key for key in map(key_of, derived.kernel_parameters) if key not in line]
    size = len(after.linux) + len(after.linux_default)
    if size > LINE_BYTES:
        yield f"its kernel line would be {size} bytes long, of which the kernel reads {LINE_BYTES}"
    if lost:
        yield (
            f"the GRUB files would not give {', '.join(lost)} to the kernel: look for a `--` in "
            "them, or for a drop-in that sorts behind ours and replaces the line"
        )


def _memory(derived: Derived, _: HostFacts) -> Iterator[str]:
    if derived.gtt_gib is None:
        return
    left = sizing.system_gib(derived.mem_total_kib, derived.gtt_gib)
    if left < sizing.LEAST_SYSTEM_GIB:
        total = derived.mem_total_kib / sizing.KIB_PER_GIB
        yield (
            f"kernel_gtt_gib {derived.gtt_gib} of {total:.1f} GiB leaves the system {left:.1f} "
            f"GiB, {sizing.LEAST_SYSTEM_GIB} is the least: at most "
            f"{max(0, int(total - sizing.LEAST_SYSTEM_GIB))} can be asked"
        )


def _room(derived: Derived, facts: HostFacts) -> Iterator[str]:
    boot = INITRAMFS_BYTES if changes.initramfs(derived, facts) else BOOT_BYTES
    for path, needed in (("/", ROOT_BYTES), ("/boot", boot)):
        mount = facts.disk.under(path)
        if mount is None:
            yield f"free space under {path} could not be read"
        elif mount.available_bytes < needed:
            yield (
                f"{path} has {mount.available_bytes // MIB} MiB free, {needed // MIB} are needed: "
                "`apt-get clean` and `apt-get autoremove` free some"
            )


def _initramfs(derived: Derived, facts: HostFacts) -> Iterator[str]:
    due = changes.initramfs(derived, facts)
    if due and "update-initramfs" not in facts.loader.tools:
        yield f"its initramfs {due[0]}, and update-initramfs is not there to build it again"


REFUSALS: Mapping[str, Refusal] = {
    "boot loader": _boot_loader,
    "kernel": _kernel_flavour,
    "GPU driver": _dkms,
    "GPU enabled": _disabled_gpu,
    "next boot": _unreachable,
    "kernel line": _line,
    "memory": _memory,
    "initramfs": _initramfs,
    "free space": _room,
}
