"""The whole plan of one host, from its facts."""

from collections.abc import Callable, Mapping

from apuhost.changes import (
    HostPlan,
    RolePlan,
    boot,
    docker,
    kernel,
    mirror,
    models,
    ollama,
    reboot,
    vulkan,
)
from apuhost.derived import Derived, derive
from apuhost.host_facts import HostFacts
from apuhost.settings import Settings

PLANS: Mapping[str, Callable[[Derived, HostFacts], RolePlan]] = {
    "mirror": mirror.plan,
    "kernel": kernel.plan,
    "vulkan": vulkan.plan,
    "docker": docker.plan,
    "ollama": ollama.plan,
    "models": models.plan,
    "boot": boot.plan,
}
"""How every role is planned, in the order in which a deploy applies them."""

IN_CONTAINERS = frozenset({"ollama", "models"})
"""Roles whose state only a running engine tells."""


def plan(settings: Settings, facts: HostFacts) -> HostPlan:
    """What a deploy would do, in its order.

    Raises:
        Unreadable: something that decides could not be read.
    """
    derived = derive(settings, facts)
    applied = tuple(_role(role, derived, facts) for role in settings.chosen)
    return HostPlan((*applied, *_uncured(derived, facts)), reboot.planned(derived, facts, applied))


def _role(role: str, derived: Derived, facts: HostFacts) -> RolePlan:
    if role in IN_CONTAINERS and docker.comes_up(derived, facts):
        return RolePlan(role, notes=("what changes here is seen when Docker runs",))
    return PLANS[role](derived, facts)


def _uncured(derived: Derived, facts: HostFacts) -> tuple[RolePlan, ...]:
    notes = tuple(
        f"rebooted for this already, and it still holds: {why} (does GRUB boot another entry?)"
        for why in reboot.uncured(derived, facts)
    )
    return (RolePlan("reboot", notes=notes),) if notes else ()
