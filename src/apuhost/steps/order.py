"""The order of a deploy: which steps of which role come when.

Packages and firmware come before the one reboot, since only a boot loads firmware; Ollama after it,
since it looks for GPUs once, when it starts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from apuhost.settings import Settings
from apuhost.steps import Step, boot, docker, kernel, mirror, models, ollama, serving, vulkan
from apuhost.steps.admission import ADMIT, ADMIT_CONTAINERS
from apuhost.steps.reboot import REBOOT_STEP


@dataclass(frozen=True)
class Part:
    """Steps that belong together; without a role they are taken on every host.

    Those that are `leaving` take back what a role left that is chosen, but has nothing to apply.
    """

    name: str
    role: str
    steps: tuple[Step, ...]
    leaving: bool = False

    def of(self, settings: Settings) -> bool:
        """Whether its steps are taken on a host of these settings."""
        roles = settings.chosen if self.leaving else settings.applied
        return not self.role or self.role in roles

    def label(self, step: Step) -> str:
        """What a step is called in the whole."""
        return f"{self.name} | {step.name}" if self.name else step.name


ORDER = (
    Part("", "", (ADMIT,)),
    Part("mirror that is left", "mirror", mirror.LEAVING, leaving=True),
    Part("mirror | mirror's host", "mirror", serving.STEPS),
    Part("mirror", "mirror", mirror.STEPS),
    Part("kernel", "kernel", kernel.STEPS),
    Part("network", "docker", docker.NETWORK),
    Part("vulkan", "vulkan", vulkan.STEPS),
    Part("docker", "docker", docker.STEPS),
    Part("", "", (REBOOT_STEP, ADMIT_CONTAINERS)),
    Part("ollama", "ollama", ollama.STEPS),
    Part("certificates that go", "docker", docker.RETIRING),
    Part("models", "models", models.STEPS),
    Part("boot", "boot", boot.STEPS),
    Part("bundle", "mirror", mirror.REMEMBERING),
)


def steps() -> Iterator[tuple[str, Part, Step]]:
    """Every step with its label and its part, in order."""
    for part in ORDER:
        for step in part.steps:
            yield part.label(step), part, step
