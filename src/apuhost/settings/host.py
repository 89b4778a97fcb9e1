"""What is said of a host itself, not of a role."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from apuhost import sizing
from apuhost.settings.firmware import FirmwareSetup
from apuhost.settings.model import Model, each_once
from apuhost.settings.waiver import Waiver


class Simulated(Model):
    """Hardware that a rehearsal VM stands in for. Honoured on virtual machines only."""

    memory_gib: Annotated[float, Field(gt=0, le=4096)]
    gpu: Annotated[str, Field(pattern=r"^1002:[0-9a-f]{4}$")]

    @property
    def memory_kib(self) -> int:
        """MemTotal in KiB."""
        return int(self.memory_gib * sizing.KIB_PER_GIB)


Role = Literal["mirror", "kernel", "vulkan", "docker", "ollama", "models", "boot"]
"""The roles' names, in the order in which a deploy applies them."""


class HostSettings(Model):
    """What is said of a host itself, not of a role."""

    host_simulated: Simulated | None
    host_firmware: FirmwareSetup | None
    host_roles: list[Role]
    host_reboot_timeout_s: Annotated[int, Field(ge=10, le=7200)]
    host_command_timeout_s: Annotated[int, Field(ge=10, le=86400)]
    host_pull_timeout_s: Annotated[int, Field(ge=10, le=604800)]
    host_waivers: list[Waiver]

    @field_validator("host_waivers")
    @classmethod
    def _once(cls, values: list[Waiver]) -> list[Waiver]:
        each_once(each.id for each in values)  # of two days nobody could say which counts
        return values
