"""A host that steps are asked about: what is known of it stands still, and no script is run."""

from dataclasses import dataclass, field

from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.settings import Settings
from apuhost.steps import Known, NextBoot, Script, Step


@dataclass
class Still:
    """It notes what it is told."""

    settings: Settings
    facts: HostFacts
    local: bool = False
    said: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)

    def known(self) -> Known:
        """What was given."""
        return Known(self.settings, derive(self.settings, self.facts), self.facts)

    def output(self, script: str) -> str:
        """None may be asked for."""
        raise AssertionError(script)

    def nothing_due(self, why: str) -> None:
        """Note it."""
        self.said.append(why)

    def warn(self, sentence: str) -> None:
        """Note it, too."""
        self.warned.append(sentence)


def first(step: Step, host: Still) -> Script | NextBoot | None:
    """What a step does first."""
    return next(step.work(host), None)
