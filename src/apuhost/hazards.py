"""Hazards: kernel parameters with which the next boot is not reached, or computes on no GPU.

Sources: systemd's kernel-command-line(7), systemd-debug-generator(8), systemd-run-generator(8);
initramfs-tools(7); dracut.cmdline(7); Documentation/admin-guide/kernel-parameters.txt.
"""

from collections.abc import Collection, Mapping

from apuhost.probes.cmdline import Argument, canonical

_SHELL = "ends in a rescue shell without ssh"
_HALF_WAY = "stops the boot half-way, in a shell"
_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("1", "s", "S", "-s", "-b", "single", "rescue", "emergency"), _SHELL),
    "recovery": _SHELL,  # Ubuntu's friendly-recovery
    "noinitrd": "boots without the initramfs that finds the root file system",
}
_KEYS: Mapping[str, str] = {
    **dict.fromkeys(("break", "rd.break", "systemd.break", "rd.systemd.break"), _HALF_WAY),
    "systemd.run": "runs a command in place of the system, then powers off",
}
_VALUES: Mapping[str, tuple[frozenset[str], str]] = {
    "systemd.unit": (frozenset({"multi-user.target", "graphical.target"}), "starts no ssh"),
    "rd.systemd.unit": (frozenset({"initrd.target"}), _HALF_WAY),
    "systemd.volatile": (frozenset({"no", "off", "false", "0"}), "boots without what is in /etc"),
    "init": (
        frozenset(
            {"/sbin/init", "/bin/systemd", "/lib/systemd/systemd", "/usr/lib/systemd/systemd"}
        ),
        "starts another program than systemd",
    ),
    "rdinit": (frozenset({"/init"}), _HALF_WAY),
}
"""Keys that leave a host reachable with these values alone."""

_NEEDED_UNITS = (
    "ssh", "network", "NetworkManager", "netplan", "systemd-networkd", "systemd-udev", "dbus",
    "multi-user.target", "basic.target", "sysinit.target", "local-fs",
)  # fmt: skip

_DRIVER = frozenset(
    {"amdgpu", "ttm", "drm", "drm_kms_helper", "drm_ttm_helper", "drm_exec", "drm_buddy"}
    | {"drm_display_helper", "drm_suballoc_helper", "gpu_sched", "amdxcp"}
)
"""amdgpu and modules without which it does not load (modinfo -F depends, 6.12)."""

_RENAMED = "renames network interfaces: a configuration by name finds none of them"
_MODULES = "keeps modules away, which disk and network may need"
_FIRMWARE = "changes how the firmware is asked: disks and network may not come up"
_MEMORY = "hides memory, by which kernel_gtt_gib is sized"
_DOUBTS: Mapping[str, str] = {
    "net.ifnames": _RENAMED,
    "biosdevname": _RENAMED,
    "ip": "sets the network up before the system does",
    "ipv6.disable": "ends IPv6, by which the host may be reached",
    "modprobe.blacklist": _MODULES,
    "module_blacklist": _MODULES,
    "initcall_blacklist": _MODULES,
    "systemd.mask": "keeps a unit from starting",
    "overlayroot": "may throw away at each boot what a deploy writes",
    "acpi": _FIRMWARE,
    "noapic": _FIRMWARE,
    "nolapic": _FIRMWARE,
    "pci": _FIRMWARE,
    "mem": _MEMORY,
    "memmap": _MEMORY,
}
_DRIVERS_OWN = ("amdgpu.", "gpu_sched.", "drm.")


def unreached(argument: Argument) -> str:
    """Why a host that boots with it is reached no more; "" where it is."""
    key, value = canonical(argument.key), argument.value
    if value is None and argument.key in _WORDS:
        return _WORDS[argument.key]
    if key in _KEYS:
        return _KEYS[key]
    if key in _VALUES and value is not None:
        harmless, why = _VALUES[key]
        return "" if value in harmless else why
    if key == "systemd.mask" and (value or "").startswith(_NEEDED_UNITS):
        return "keeps away what ssh needs"
    if key == "pci" and "off" in _parts(value):
        return "hides disk and network with the whole PCI bus"
    return ""


def unbound(argument: Argument, gpus: Collection[str]) -> str:
    """Why amdgpu does not drive GPUs of these PCI ids (1002:1900) with it; "" where it does."""
    key, parts = canonical(argument.key), _parts(argument.value)
    if key == "nomodeset":
        return "keeps amdgpu from starting"
    if key == "modprobe.blacklist" and "amdgpu" in parts:  # what another module needs is loaded
        return "keeps the driver away"
    if key == "module_blacklist" and _DRIVER.intersection(map(canonical, parts)):
        return "keeps the driver away"
    if key == "initcall_blacklist" and "amdgpu_init" in parts:
        return "keeps amdgpu from starting"
    if key in ("vfio_pci.ids", "pci_stub.ids") and any(_names(part, gpus) for part in parts):
        return "gives the GPU to another driver"
    return ""


def doubt(argument: Argument) -> str:
    """What may go wrong with it; "" where nothing is known."""
    key = canonical(argument.key)
    if key.startswith(_DRIVERS_OWN):
        return "is not the driver's own choice: no check tells what comes of it"
    return _DOUBTS.get(key, "")


def _parts(value: str | None) -> list[str]:
    return (value or "").split(",")


def _names(part: str, gpus: Collection[str]) -> bool:
    """Whether an entry (1002:1900, or with subsystem ids behind) is of one of the GPUs."""
    return ":".join(part.lower().split(":")[:2]) in gpus
