"""What must not be deployed, and why: asked before anything on a host is touched."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from apuhost.changes.host import IN_CONTAINERS
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.settings import Settings
from apuhost.verdicts.gpu import no_gpu
from apuhost.verdicts.refusals import kernel, ollama, serving, stack, supply
from apuhost.verdicts.refusals.topic import Refusal

GPU_ROLES = frozenset({"kernel", "vulkan", "ollama", "models"})
"""Roles of a host that computes: one that only serves others needs no GPU."""


def by_topic(settings: Settings, derived: Derived, facts: HostFacts) -> dict[str, tuple[str, ...]]:
    """For every topic the reasons to leave this host alone; what cannot be read is one, too.

    Only roles that are applied to the host are asked.
    """
    topics = HOST | _topics(settings.applied)
    return {topic: _asked(refusal, derived, facts) for topic, refusal in topics.items()}


def refusals(settings: Settings, derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Every reason to leave this host alone, each said once."""
    found = by_topic(settings, derived, facts).values()
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def in_containers(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Reasons of the roles that need a running engine: asked once more when it runs."""
    applied = [role for role in derived.settings.host.host_roles if role in IN_CONTAINERS]
    found = (_asked(refusal, derived, facts) for refusal in _topics(applied).values())
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def _topics(roles: Iterable[str]) -> dict[str, Refusal]:
    return {topic: refusal for role in roles for topic, refusal in ROLES[role].items()}


def _asked(refusal: Refusal, derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    try:
        return tuple(refusal(derived, facts))
    except Unreadable as error:
        return (f"cannot be judged: {error}",)


def _distribution(_: Derived, facts: HostFacts) -> Iterator[str]:
    release = facts.os_release
    if not release.debian_family:
        yield f"runs {release.name or 'an unknown distribution'}, not Debian or Ubuntu"


def _simulation(derived: Derived, facts: HostFacts) -> Iterator[str]:
    if derived.settings.host.host_simulated and not facts.machine.virtual:
        yield "host_simulated is for virtual machines, and this is none: take it out"


def _gpu(derived: Derived, facts: HostFacts) -> Iterator[str]:
    if not derived.gpu and GPU_ROLES.intersection(derived.settings.applied):
        missing = no_gpu(facts)
        yield f"{missing.observed}: {missing.fix}"


def _package_manager(_: Derived, facts: HostFacts) -> Iterator[str]:
    if holder := facts.boot.dpkg_lock:
        yield f"another apt or dpkg is at work (process {holder}): wait until it ends, then repeat"


HOST: dict[str, Refusal] = {
    "distribution": _distribution,
    "kind of machine": _simulation,
    "GPU": _gpu,
    "package manager": _package_manager,
}
ROLES: Mapping[str, Mapping[str, Refusal]] = {
    "mirror": {**supply.SUPPLY, **serving.SERVING},
    "kernel": kernel.REFUSALS,
    "vulkan": stack.VULKAN,
    "docker": stack.DOCKER,
    "ollama": ollama.OLLAMA,
    "models": ollama.MODELS,
    "boot": {},
}
