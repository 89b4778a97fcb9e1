"""Verdicts on the mirror role: does it serve, and is it all that a host takes things from?"""

from apuhost import verdict_ids
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.settings import Settings
from apuhost.verdicts import Verdict

IDS = verdict_ids.MIRROR
"""What `verdicts` answers, in its order."""


def verdicts(settings: Settings, derived: Derived, facts: HostFacts) -> tuple[Verdict, ...]:  # noqa: ARG001
    """Every verdict of this concern, in a fixed order."""
    return ()
