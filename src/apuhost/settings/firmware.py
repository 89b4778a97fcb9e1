"""What was set in the host's firmware (BIOS) setup: Linux cannot set it, only look at it."""

from typing import Annotated

from pydantic import Field

from apuhost.settings.model import Model


class FirmwareSetup(Model):
    """UMA frame buffer in MiB, SVM on or off, memory speed in MT/s; None where nothing is said."""

    uma_mib: Annotated[int, Field(ge=16, le=1024 * 1024)] | None = None
    svm: bool | None = None
    memory_mts: Annotated[int, Field(ge=800, le=20_000)] | None = None
