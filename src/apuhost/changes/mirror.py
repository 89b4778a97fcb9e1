"""What the mirror role changes."""

from apuhost.changes import RolePlan
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts


def plan(derived: Derived, facts: HostFacts) -> RolePlan:  # noqa: ARG001  (as every role's plan)
    """Everything that is due for the mirror role."""
    return RolePlan("mirror")
