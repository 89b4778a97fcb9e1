"""Verdicts on the mirror role: does it serve, and is it all that a host takes things from?"""

from apuhost import verdict_ids
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.settings import Settings
from apuhost.verdicts import Verdict, supply
from apuhost.verdicts.serving import serving

IDS = verdict_ids.MIRROR
"""What `verdicts` answers, in its order."""


def verdicts(_: Settings, derived: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """Every verdict of this concern, in a fixed order."""
    asked = (
        serving,
        supply.registry,
        supply.fallback,
        supply.apt,
        supply.models,
        supply.clock,
        supply.serial,
    )
    return tuple(judged(derived, facts) for judged in asked)
