"""What the boot role may be told."""

import re
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from apuhost.settings.model import Model

# They stand in a program of the host's shell.
_FOLDER = re.compile(r"(/[A-Za-z0-9._-]+)+")


class BootSettings(Model):
    """The boot role: what the host saves of every boot, and whether it judges it itself."""

    boot_keep: Annotated[int, Field(ge=2, le=100)]
    boot_every_h: Annotated[int, Field(ge=1, le=8760)]
    boot_checkout: str
    boot_textfile_dir: str

    @field_validator("boot_checkout", "boot_textfile_dir")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if value and (not _FOLDER.fullmatch(value) or ".." in value.split("/")):
            raise ValueError("not an absolute path of plain letters")
        return value

    @field_validator("boot_textfile_dir")
    @classmethod
    def _judged(cls, value: str, info: ValidationInfo) -> str:
        if value and info.data.get("boot_checkout") == "":
            raise ValueError("only a host with boot_checkout judges itself")
        return value
