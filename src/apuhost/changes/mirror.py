"""What the mirror role changes."""

from apuhost.changes import RolePlan, serving, supply
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts


def plan(derived: Derived, facts: HostFacts) -> RolePlan:
    """Everything that is due for the mirror role."""
    led = (*supply.files(derived, facts), *supply.newest(derived, facts))
    return RolePlan(
        "mirror",
        files=(*serving.files(derived, facts), *led),
        actions=serving.actions(derived, facts),
        notes=serving.notes(derived, facts),
    )
