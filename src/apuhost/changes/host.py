"""The whole plan of one host, from its facts."""

from apuhost.changes import HostPlan, kernel, reboot
from apuhost.derived import Derived, derive
from apuhost.host_facts import HostFacts
from apuhost.settings import Settings


def plan(settings: Settings, facts: HostFacts) -> HostPlan:
    """What a deploy would do, in its order.

    Raises:
        Unreadable: something that decides could not be read.
    """
    derived = derive(settings, facts)
    initramfs = kernel.initramfs(derived, facts)
    rebuilt = ("a new initramfs must be booted",) if initramfs else ()
    return HostPlan(
        files=kernel.files(derived, facts),
        initramfs=initramfs,
        grub_cfg=_menu(derived, facts),
        reboot=(*reboot.reasons(derived, facts), *rebuilt),
        notes=(*kernel.notes(settings, derived, facts), *_uncured(derived, facts)),
    )


def _uncured(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    return tuple(
        f"rebooted for this already, and it still holds: {why} (does GRUB boot another entry?)"
        for why in reboot.uncured(derived, facts)
    )


def _menu(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    sources = (*kernel.drop_in(derived, facts), *kernel.grub_files(derived, facts))
    changing = tuple(f"{change.path} changes" for change in sources)
    return changing or kernel.grub_cfg_reasons(derived, facts)
