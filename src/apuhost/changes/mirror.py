"""What the mirror role changes."""

from apuhost.changes import RolePlan, retiring, serving, supply
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts


def plan(derived: Derived, facts: HostFacts) -> RolePlan:
    """Everything that is due for the mirror role; without a mirror, what one left."""
    led = (*supply.files(derived, facts), *supply.newest(derived, facts))
    return RolePlan(
        "mirror",
        files=(*retiring.files(derived, facts), *serving.files(derived, facts), *led),
        actions=(*retiring.actions(derived, facts), *serving.actions(derived, facts)),
        notes=(
            *retiring.notes(derived, facts),
            *serving.notes(derived, facts),
            *supply.notes(derived, facts),
        ),
    )
