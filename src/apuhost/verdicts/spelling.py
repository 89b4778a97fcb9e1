"""Misspelt kernel parameters: the kernel takes them in silence, or with a line in its log."""

from difflib import get_close_matches

from apuhost.host_facts import HostFacts
from apuhost.nearest import hint
from apuhost.probes import cmdline
from apuhost.verdicts import Found
from apuhost.verdicts.logged import kernel_log

GPU_MODULES = ("ttm", "amdgpu", "amdttm")

EVERY_MODULE = frozenset({"dyndbg", "async_probe"})
"""Parameters that the kernel knows for each module; modinfo lists them for none."""

OF_LOADERS = frozenset({"BOOT_IMAGE", "splash"})
"""Words that GRUB and Plymouth put there for themselves."""

_WORDS = ("amd_iommu", "iommu", "iommu.passthrough", "mitigations", "nomodeset", "nosmt")
_MORE_WORDS = ("amd_pstate", "crashkernel", "pcie_aspm", "transparent_hugepage", "hugepages")
_OF_MODULES = ("ttm.pages_limit", "ttm.page_pool_size", "amdgpu.lockup_timeout", "amdgpu.gttsize")
MEANT = {
    **{word: word for word in (*_WORDS, *_MORE_WORDS, *_OF_MODULES)},
    **{key.partition(".")[2]: key for key in _OF_MODULES},
}
"""What people set on such hosts, by the name that a slip may come near to."""

NEAR = 0.8
BY_HAND = "take it out by hand, or name it in kernel_remove_args"


def known_to_modinfo(line: cmdline.Cmdline, where: str, facts: HostFacts) -> Found:
    """No ttm.* or amdgpu.* key that the module does not know."""
    known = sorted(facts.modules.known)
    for argument in line.arguments:
        key = cmdline.canonical(argument.key)
        module, _, name = key.partition(".")
        if module not in GPU_MODULES or name in EVERY_MODULE or not name:
            continue
        if facts.modules.knows(module) and key not in known:
            said = f"{where} has {cmdline.join([argument])}"
            summary = f"{key} is not a parameter of {module}{hint(key, known)}"
            return Found(False, summary, said, BY_HAND)
    return Found(True, "none misspelt")


def known_to_kernel(facts: HostFacts) -> Found:
    """No word that the running kernel itself refused, and that is near to one it knows.

    The rest of its list is for init and its services, which nobody but they can judge.
    """
    log = kernel_log(facts)
    words = [
        word
        for word in (log.unknown_parameters if log else ())
        if word.partition("=")[0] not in OF_LOADERS
    ]
    for word in words:
        if found := _misspelt(word):
            return found
    return Found(
        True, f"none misspelt; left to init: {' '.join(words)}" if words else "none misspelt"
    )


def _misspelt(word: str) -> Found | None:
    key = cmdline.canonical(word.partition("=")[0])
    module, _, name = key.partition(".")
    if name and module in GPU_MODULES:
        said = f"kernel log: {module}: unknown parameter '{name}' ignored"
        fix = "take it out of /etc/modprobe.d or /etc/default/grub by hand"
        return Found(False, f"{key} is not a parameter of {module}", said, fix)
    near = get_close_matches(key, MEANT, n=1, cutoff=NEAR)
    if not near or MEANT[near[0]] == key:
        return None
    said = f"kernel log: Unknown kernel command line parameters, {word} among them"
    return Found(False, f"{key} is no kernel parameter ({MEANT[near[0]]}?)", said, BY_HAND)
