"""Verdicts on the vulkan role: is what the GPU needs there, and does Mesa's RADV drive it?"""

from apuhost import verdict_ids
from apuhost.changes import vulkan as changes
from apuhost.derived import Derived
from apuhost.hardware import AMD
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.nodes import Node
from apuhost.probes.vulkaninfo import Device
from apuhost.settings import Settings
from apuhost.verdicts import Found, Layer, Question, Verdict, judge
from apuhost.verdicts.health import DRIVER_LOG
from apuhost.verdicts.parameter import DEPLOY

GROUP = "render"
OTHERS = 0o006
MEMBERS = 0o060
UDEV = (
    "grep -rn -e drm -e kfd /etc/udev/rules.d, then "
    "systemctl restart systemd-udevd && udevadm trigger --action=add --subsystem-match=drm"
)
"""udev's rules by hand: a change, trigger's own action, leaves a node's group (tried with 257)."""
SUMMARY = "vulkaninfo --summary"
DRIVERS = "ls /usr/share/vulkan/icd.d /etc/vulkan/icd.d"
"""Every driver that Vulkan's loader finds has a file there."""

IDS = verdict_ids.VULKAN
"""What `verdicts` answers, in its order."""


def verdicts(settings: Settings, derived: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """Every verdict of this concern, in a fixed order."""
    return (
        packages(derived, facts),
        firmware(derived, facts),
        groups(derived, facts),
        nodes(settings, facts),
        device(settings, derived, facts),
    )


def packages(derived: Derived, facts: HostFacts) -> Verdict:
    """Are Vulkan's packages installed?"""
    asked = ", ".join(derived.settings.vulkan.vulkan_packages) or "no package"
    return judge(
        Question("vulkan.packages", asked),
        ((Layer.CONFIGURED, lambda: _installed(derived, facts)),),
    )


def firmware(derived: Derived, facts: HostFacts) -> Verdict:
    """Is the GPU's firmware installed, and was it there when the driver started?"""
    return judge(
        Question("vulkan.firmware", "the GPU's firmware, loaded at boot"),
        (
            (Layer.CONFIGURED, lambda: _has_firmware(derived, facts)),
            (Layer.BOOTED, lambda: _had_firmware(facts)),
        ),
    )


def groups(derived: Derived, facts: HostFacts) -> Verdict:
    """Are the users who may compute in the groups that open the nodes?"""
    users = ", ".join(derived.settings.vulkan.vulkan_users) or "nobody"
    return judge(
        Question("vulkan.groups", f"{users} in {' and '.join(changes.GROUPS)}"),
        ((Layer.CONFIGURED, lambda: _joined(derived, facts)),),
    )


def nodes(settings: Settings, facts: HostFacts) -> Verdict:
    """Can the group render, and nobody else, open the GPU's nodes?"""
    return judge(
        Question("vulkan.nodes", f"the GPU's nodes open to group {GROUP} alone"),
        ((Layer.LIVE, lambda: _guarded(settings, facts)),),
    )


def device(settings: Settings, derived: Derived, facts: HostFacts) -> Verdict:
    """Does Vulkan on the host list the GPU, driven by RADV?"""
    return judge(
        Question("vulkan.device", "the GPU in Vulkan, driven by RADV"),
        ((Layer.EFFECTIVE, lambda: _driven(settings, derived, facts)),),
    )


def _installed(derived: Derived, facts: HostFacts) -> Found:
    lacking = changes.packages(derived, facts)
    if lacking:
        broken = lacking[0] in facts.packages.broken
        state = "is left half-way by dpkg" if broken else "is not installed"
        return Found(False, f"{lacking[0]} {state}", f"dpkg-query -W {' '.join(lacking)}", DEPLOY)
    versions = facts.packages.installed
    wanted = derived.settings.vulkan.vulkan_packages
    return Found(True, ", ".join(f"{name} {versions[name]}" for name in wanted) or "none asked")


def _has_firmware(derived: Derived, facts: HostFacts) -> Found:
    name = changes.firmware_package(facts)
    if changes.firmware(derived, facts):
        return Found(False, f"{name} is not installed", f"dpkg-query -W {name}", DEPLOY)
    return Found(True, f"{name} {facts.packages.installed[name]}")


def _had_firmware(facts: HostFacts) -> Found:
    name = changes.firmware_package(facts)
    since = facts.boot.newer_firmware
    if since and any(gpu.driver is None for gpu in facts.gpus.amd):
        return Found(
            False,
            "an AMD GPU started without its firmware",
            f"{since} is newer than this boot",
            "reboot",
        )
    return Found(True, f"{name} {facts.packages.installed.get(name, 'not installed')}")


def _joined(derived: Derived, facts: HostFacts) -> Found:
    users = derived.settings.vulkan.vulkan_users
    known = facts.accounts.groups
    for user in users:
        if user not in facts.accounts.users:
            return Found(
                False, f"the host has no user {user}", f"getent passwd {user}", f"adduser {user}"
            )
        for group in changes.GROUPS:
            if group not in known:
                return Found(
                    False,
                    f"the host has no group {group}",
                    f"getent group {group}",
                    "systemd-sysusers",
                )
            if user not in known[group].members:
                listed = ", ".join(sorted(known[group].members)) or "nobody"
                return Found(
                    False, f"{user} is not in {group}", f"/etc/group: {group} has {listed}", DEPLOY
                )
    return Found(True, f"{', '.join(users)} in both" if users else "nobody is to join")


def _guarded(settings: Settings, facts: HostFacts) -> Found:
    found = facts.nodes
    group = facts.accounts.groups.get(GROUP)
    if found.render is None:
        return Found(False, "there is no render node", "/dev/dri has no renderD*", DRIVER_LOG)
    rocm = settings.ollama.ollama_backend == "rocm"
    if rocm and found.kfd is None:
        return Found(False, "there is no /dev/kfd, which ROCm needs", "ls -l /dev/kfd", DRIVER_LOG)
    for node in found.nodes:
        if "/card" in node.path or (node.path == "/dev/kfd" and not rocm):
            continue
        wrong = _wrong_access(node, None if group is None else group.gid)
        if wrong:
            return Found(False, f"{node.path} {wrong}", _listed(node), UDEV)
    return Found(True, _listed(found.render))


def _wrong_access(node: Node, gid: int | None) -> str:
    if gid is None or node.gid != gid:
        return f"belongs to group {node.group} ({node.gid}), not to {GROUP} ({gid})"
    if node.mode & OTHERS:
        return "is open to every user"
    return "" if node.mode & MEMBERS == MEMBERS else f"is closed to its group {GROUP}"


def _listed(node: Node) -> str:
    return f"{node.path} has mode {node.mode:04o}, group {node.group} ({node.gid})"


def _driven(settings: Settings, derived: Derived, facts: HostFacts) -> Found:
    if "vulkan-tools" not in derived.settings.vulkan.vulkan_packages and not _seen(facts):
        return Found(None, "vulkan_packages has no vulkan-tools, so nobody asked Vulkan")
    told = facts.vulkaninfo
    simulated = bool(settings.host.host_simulated) and facts.machine.virtual
    wanted = set() if simulated else {gpu.device for gpu in facts.gpus.amd} or {derived.gpu}
    driven = [found for found in told.radv if not wanted or _id(found) in wanted]
    if driven:
        said = f"{driven[0].name or 'RADV'}, {driven[0].driver_info or 'RADV'}"
        return Found(True, f"{said} (simulated)" if simulated else said)
    if not told.complete or (not told.devices and "not installed" in (told.error or "")):
        raise Unreadable(f"vulkaninfo: {told.error or 'its answer is cut'}")
    fix = DEPLOY if changes.packages(derived, facts) else DRIVER_LOG
    if any(not found.cpu for found in told.devices):
        fix = DRIVERS
    return Found(False, *_instead(told.devices, told.error), fix)


def _seen(facts: HostFacts) -> bool:
    return bool(facts.vulkaninfo.devices)


def _id(found: Device) -> str:
    return (found.device_id or "").lower().removeprefix("0x")


def _instead(devices: tuple[Device, ...], error: str | None) -> tuple[str, str]:
    """What Vulkan lists where the GPU should be, and the line that shows it."""
    if not devices:
        return "Vulkan lists no device", error or SUMMARY
    if all(found.cpu for found in devices):
        return (
            "Vulkan lists only a CPU device (llvmpipe)",
            error or f"{SUMMARY}: {_told(devices[0])}",
        )
    other = next(found for found in devices if not found.cpu)
    if (other.vendor_id or "").lower() != f"0x{AMD}":
        return "Vulkan lists no AMD GPU", f"{SUMMARY}: {_told(other)}"
    if not other.radv:
        return "another driver than RADV has the GPU", f"{SUMMARY}: {_told(other)}"
    return "Vulkan lists another GPU than the PCI bus", f"{SUMMARY}: {_told(other)}"


def _told(found: Device) -> str:
    return f"{found.vendor_id}:{found.device_id} {found.driver_name or found.name or 'no driver'}"
