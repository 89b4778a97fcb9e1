"""What the vulkan role changes: package sources, packages, firmware, group memberships."""

from collections.abc import Iterator

from apuhost.changes import FIRMWARE, FileChange, RolePlan, due, needed
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes import apt_sources
from apuhost.probes.apt_sources import Source
from apuhost.probes.files import TextFile

GROUPS = ("render", "video")
"""Who is in them may open /dev/dri; Debian's and Ubuntu's udev rules name both."""

COMPONENT = "non-free-firmware"
"""The part of Debian that has GPU firmware, since Debian 12; a bare host need not ask for it."""

_ARCHIVES = frozenset({"debian", "debian-security"})
_CLASSES = frozenset({"stable", "oldstable", "testing", "unstable", "sid"})
"""Names of suites that move from release to release; a host's own release is told by its name."""


def plan(derived: Derived, facts: HostFacts) -> RolePlan:
    """Everything that is due for the vulkan role."""
    return RolePlan(
        "vulkan",
        files=sources(derived, facts),
        actions=(
            *due("packages", "installed", packages(derived, facts)),
            *due(FIRMWARE, "installed", firmware(derived, facts)),
            *due("groups", "joined", _pairs(derived, facts)),
        ),
        notes=tuple(_notes(derived, facts)),
    )


def packages(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Vulkan's packages that the host lacks."""
    wanted = derived.settings.vulkan.vulkan_packages
    return tuple(name for name in wanted if name not in facts.packages.installed)


def firmware(_: Derived, facts: HostFacts) -> tuple[str, ...]:
    """The package of the GPU's firmware, where the host lacks it."""
    name = firmware_package(facts)
    return () if name in facts.packages.installed else (name,)


def firmware_package(facts: HostFacts) -> str:
    """The distribution's package that holds amdgpu's firmware."""
    return needed.FIRMWARE[facts.os_release.family]


def sources(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """Debian's own package sources with the component that has the firmware."""
    if not firmware(derived, facts) or not lacks_component(derived, facts):
        return ()
    paths = {source.path for source in _of_release(facts) if _debians(source, facts)}
    return tuple(
        FileChange(file.path, file.text, after, f"{COMPONENT} added", operators=True)
        for file in facts.apt_sources.files
        if file.path in paths and (after := _with_component(file, facts)) != file.text
    )


def _with_component(file: TextFile, facts: HostFacts) -> str:
    return apt_sources.with_component(
        file.text, file.path, COMPONENT, belongs=lambda source: _debians(source, facts)
    )


def unknown_sources(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Files with the release's main part that nothing shows to be Debian's: they are not edited."""
    if not firmware(derived, facts) or not lacks_component(derived, facts):
        return ()
    others = (source.path for source in _of_release(facts) if not _debians(source, facts))
    return tuple(dict.fromkeys(others))


def lacks_component(derived: Derived, facts: HostFacts) -> bool:
    """Whether the firmware's package is in no source that apt reads; a mirror has no components."""
    if derived.settings.mirrored("apt"):
        return False
    name, sources = firmware_package(facts), facts.apt_sources
    known = name in sources.candidates or sources.has_component(COMPONENT)
    return name == needed.FIRMWARE["debian"] and not known


def joining(derived: Derived, facts: HostFacts) -> tuple[tuple[str, str], ...]:
    """Users and the group that each still has to join."""
    return tuple(
        (user, group)
        for user in derived.settings.vulkan.vulkan_users
        for group in GROUPS
        if group in facts.accounts.groups and user not in facts.accounts.groups[group].members
    )


def _pairs(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    return tuple(f"{user}: {group}" for user, group in joining(derived, facts))


def _of_release(facts: HostFacts) -> tuple[Source, ...]:
    """Entries of the release's main part; by its moving names only where none has its own."""
    named = [
        source
        for source in facts.apt_sources.sources
        if source.enabled and "deb" in source.types and "main" in source.components
    ]
    own = tuple(source for source in named if facts.os_release.codename in source.suites)
    known = any(_debians(source, facts) for source in own)
    moving = (source for source in named if not known and _CLASSES.intersection(source.suites))
    return (*own, *(source for source in moving if source not in own))


def _debians(source: Source, facts: HostFacts) -> bool:
    """Whether an entry is Debian's own archive, or a mirror: others need have no firmware.

    Its key tells; without one named, the addresses, those in a list of mirrors, too.
    """
    if source.signed_by:
        return "/debian-archive-" in source.signed_by
    addresses = facts.apt_sources.addresses(source)
    return bool(addresses) and all(
        address.rstrip("/").rpartition("/")[2] in _ARCHIVES for address in addresses
    )


def _notes(derived: Derived, facts: HostFacts) -> Iterator[str]:
    if joining(derived, facts):
        yield "a new group counts from the user's next login on"
    for path in unknown_sources(derived, facts):
        yield f"{path} is not known as Debian's: {COMPONENT} is not added to it"
    if facts.packages.broken:
        yield f"dpkg was broken off in {', '.join(facts.packages.broken[:3])}: it is finished first"
