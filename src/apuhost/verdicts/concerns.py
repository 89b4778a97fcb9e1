"""The concerns that can be judged of any boot, and how several concerns are judged."""

from collections.abc import Iterable
from itertools import chain
from types import ModuleType

from apuhost.derived import derive
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.settings import ROLES, Settings
from apuhost.verdicts import (
    Status,
    Verdict,
    docker,
    firmware,
    gpu,
    kernel,
    mirror,
    models,
    ollama,
    vulkan,
)

NEEDED = "memory, kernel, GPU and kind of machine known"
AGAIN = "save the facts again (apuhost facts INVENTORY -o DIR)"
LOOK = "look at what the host prints (apuhost facts INVENTORY -o DIR)"

OF_ANY_BOOT: tuple[ModuleType, ...] = (
    mirror,
    kernel,
    gpu,
    firmware,
    vulkan,
    docker,
    ollama,
    models,
)


def verdicts(
    concerns: Iterable[ModuleType], settings: Settings, facts: HostFacts
) -> tuple[Verdict, ...]:
    """Every verdict of those concerns that are the host's; unknown without what all depend on."""
    asked = applied(concerns, settings)
    try:
        derived = derive(settings, facts)
    except Unreadable as error:
        reason = f"{error}; without it nothing is judged: {AGAIN if facts.saved else LOOK}"
        return tuple(
            Verdict(verdict_id, Status.UNKNOWN, NEEDED, "not read", reason=reason)
            for concern in asked
            for verdict_id in concern.IDS
        )
    return tuple(chain.from_iterable(each.verdicts(settings, derived, facts) for each in asked))


def applied(concerns: Iterable[ModuleType], settings: Settings) -> tuple[ModuleType, ...]:
    """The concerns of a host: those of its roles, and those that are no role's."""
    left_out = ROLES.keys() - set(settings.applied)
    words = {concern.__name__.rpartition(".")[2]: concern for concern in concerns}
    return tuple(concern for word, concern in words.items() if word not in left_out)
