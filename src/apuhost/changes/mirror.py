"""What the mirror role changes."""

from apuhost.changes import RolePlan, serving
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts


def plan(derived: Derived, facts: HostFacts) -> RolePlan:
    """Everything that is due for the mirror role."""
    return RolePlan(
        "mirror",
        files=serving.files(derived, facts),
        actions=serving.actions(derived, facts),
        notes=serving.notes(derived, facts),
    )
