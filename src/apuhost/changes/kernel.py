"""What the kernel role changes: files under /etc, the initramfs, grub.cfg."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from apuhost import hazards, kernels, roles
from apuhost.changes import BACKUP, FileChange, RolePlan, due
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes import cmdline, grub, grub_cfg, modprobe
from apuhost.probes.files import TextFile

GRUB_DEFAULTS = "/etc/default/grub"
DROP_IN = "/etc/default/grub.d/zz-apuhost.cfg"
GRUB_CFG = "/boot/grub/grub.cfg"


def plan(derived: Derived, facts: HostFacts) -> RolePlan:
    """Everything that is due for the kernel role."""
    return RolePlan(
        "kernel",
        files=files(derived, facts),
        actions=(
            *due("initramfs", "built again", initramfs(derived, facts)),
            *due(GRUB_CFG, "built again, checked, then put in place", menu_reasons(derived, facts)),
        ),
        notes=notes(derived, facts),
    )


def files(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """Our drop-in, and every other file that sets one of our keys without needing a shell."""
    return (
        *drop_in(derived, facts),
        *grub_files(derived, facts),
        *module_options(derived, facts),
    )


def values(derived: Derived) -> dict[str, object]:
    """The variables that roles/kernel/templates may use."""
    return {"kernel_parameters": list(derived.kernel_parameters)}


def drop_in(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The one owned file: nothing when it is already as it should be."""
    after = roles.render("kernel", DROP_IN, values(derived))
    before = next((file.text for file in facts.grub.files if file.path == DROP_IN), None)
    why = "new" if before is None else "brought up to date"
    return () if before == after else (FileChange(DROP_IN, before, after, why, operators=False),)


def grub_files(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """Our keys in /etc/default/grub and in drop-ins that are not ours."""
    return _taken_out(_others(facts), lambda text: _grub_without(text, derived))


def module_options(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """Our keys as module options in /etc/modprobe.d; packages' files elsewhere are left alone."""
    parameters = _module_parameters(derived)
    own = (file for file in facts.modprobe.files if file.path.startswith("/etc/"))
    return _taken_out(own, lambda text: modprobe.without(text, parameters))


def _taken_out(
    sources: Iterable[TextFile], without: Callable[[str], str]
) -> tuple[FileChange, ...]:
    return tuple(
        FileChange(file.path, file.text, after, _kept(file.path), operators=True)
        for file in sources
        if (after := without(file.text)) != file.text
    )


def initramfs(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the initramfs must be built again: it holds a copy of /etc/modprobe.d."""
    edited = module_options(derived, facts)
    if not any(kernel.initramfs_at for kernel in facts.kernel.installed):
        return ()
    if edited:
        return tuple(f"holds a copy of {change.path}" for change in edited)
    stale = [kernel.release for kernel in facts.kernel.installed if kernel.initramfs_stale]
    return tuple(f"of {release} is older than /etc/modprobe.d" for release in stale)


def line_after(derived: Derived, facts: HostFacts) -> grub.Configured:
    """What the GRUB files will give once `files` are written."""
    texts = {file.path: file.text for file in facts.grub.files}
    due = (*drop_in(derived, facts), *grub_files(derived, facts))
    texts |= {change.path: change.after for change in due}
    ordered = sorted(texts, key=lambda path: (path != GRUB_DEFAULTS, path))
    return grub.configured([TextFile(path, texts[path]) for path in ordered])


def grub_cfg_reasons(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why grub.cfg must be built again: it lacks something, or is older than a file of ours.

    The age tells what the content cannot: a parameter that is no longer asked for, and an
    interrupted run.
    """
    lacking = grub_cfg.lacking(facts.grub_cfg, derived.kernel_parameters, derived.removed_keys)
    newer = tuple(f"{path} is newer" for path in facts.loader.newer_than_menu)
    return (*lacking, *newer)


def menu_reasons(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why grub.cfg is built again in this deploy: what it is made from changes, or has changed."""
    sources = (*drop_in(derived, facts), *grub_files(derived, facts))
    changing = tuple(f"{change.path} changes" for change in sources)
    return changing or grub_cfg_reasons(derived, facts)


def notes(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """What an operator should know before saying yes."""
    said = []
    if derived.settings.kernel.kernel_amd_iommu == "off":
        said.append("amd_iommu=off hides the NPU and switches DMA protection off")
    said += _doubts(derived)
    said += [
        f"{path} sets {', '.join(keys)} and is not edited: {why}"
        for path, keys, why in untouched(derived, facts)
    ]
    return (*said, *_ring_notes(derived, facts.kernel.running))


def _doubts(derived: Derived) -> Iterator[str]:
    for argument in cmdline.read(" ".join(derived.settings.kernel.kernel_extra_args)).arguments:
        if why := hazards.doubt(argument):
            yield f"kernel_extra_args: {cmdline.join([argument])} {why}"


def untouched(derived: Derived, facts: HostFacts) -> tuple[tuple[str, list[str], str], ...]:
    """Files that set our keys and stay as they are: path, keys, why."""
    shell = [
        (file.path, keys, "only a shell could tell what it does; take them out by hand")
        for file in _others(facts)
        if _needs_a_shell(file.text, derived) and (keys := _mentioned(file.text, derived))
    ]
    parameters = _module_parameters(derived)
    packaged = [
        (option.path, [key := f"{option.module}.{option.parameter}"], _packaged(key, derived))
        for option in facts.modprobe.options
        if not option.path.startswith("/etc/") and (option.module, option.parameter) in parameters
    ]
    return (*shell, *packaged)


def _packaged(key: str, derived: Derived) -> str:
    if key in derived.removed_keys:
        return "it is a package's: overrule it with a file of the same name in /etc/modprobe.d"
    return "the kernel line outweighs it"


def _ring_notes(derived: Derived, release: str) -> list[str]:
    """Rings that get less than was typed, or less than this kernel gives by itself."""
    typed = str(derived.settings.kernel.kernel_lockup_timeout_ms)
    one = None if "," in typed else int(typed)
    default = kernels.lockup_behaviour(release).default
    said = []
    for ring, ms, kept in zip(kernels.RINGS, derived.rings.values(), default.values(), strict=True):
        if ms < 0:
            said.append(f"ring {ring} has no watchdog: a GPU that hangs needs a reboot")
        elif ms < kept:
            said.append(f"ring {ring} is cut from kernel {release}'s {kept} ms to {ms} ms")
        elif one is not None and (one < 0 or ms < one):
            said.append(
                f"ring {ring} stays at {ms} ms: on kernel {release} one number does not reach it "
                "(write four: GFX,Compute,SDMA,Video)"
            )
    return said


def _grub_without(text: str, derived: Derived) -> str:
    """The file less our keys; the file as it is where only a shell could tell (see `untouched`)."""
    with suppress(grub.Undetermined):
        return grub.without(text, derived.managed_keys)
    return text


def _needs_a_shell(text: str, derived: Derived) -> bool:
    try:
        grub.without(text, derived.managed_keys)
    except grub.Undetermined:
        return True
    return False


def _kept(path: str) -> str:
    return f"our keys taken out (kept as {path.rpartition('/')[2]}{BACKUP})"


def _others(facts: HostFacts) -> tuple[TextFile, ...]:
    return tuple(file for file in facts.grub.files if file.path != DROP_IN)


def _mentioned(text: str, derived: Derived) -> list[str]:
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [key for key in sorted(derived.managed_keys) if re.search(_gives(key), code)]


def _gives(key: str) -> str:
    """A pattern for "key=" that passes over longer keys: iommu= is not in amd_iommu=."""
    return rf"(?<![\w.\-]){re.escape(key)}="


def _module_parameters(derived: Derived) -> frozenset[tuple[str, str]]:
    """Our keys as (module, parameter): `options ttm pages_limit=N` is ttm.pages_limit=N."""
    dotted = [key.split(".", 1) for key in derived.managed_keys if "." in key]
    return frozenset((module, parameter) for module, parameter in dotted)
