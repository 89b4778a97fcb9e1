"""A host that must not be touched is refused, before any other step reaches it."""

from collections.abc import Callable

from apuhost.steps import Known, Step, StepFailed, Target, Work
from apuhost.verdicts.refusals import in_containers, refusals


def _admission(name: str, reasons: Callable[[Known], tuple[str, ...]], left: str) -> Step:
    def work(target: Target) -> Work:
        if refused := reasons(target.known()):
            raise StepFailed(f"refused: {'; '.join(refused)}; {left}")
        target.nothing_due("may be provisioned")
        yield from ()

    return Step(name, work, ())


ADMIT = _admission("admit", lambda now: refusals(*now), "nothing was touched")

ADMIT_CONTAINERS = _admission(
    "admit, with Docker",
    lambda now: in_containers(now.derived, now.facts),
    "its containers and models stay as they are",
)
"""What only a running engine can tell, before a container is touched."""
