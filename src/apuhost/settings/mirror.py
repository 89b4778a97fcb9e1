"""What the mirror role may be told."""

import re
from ipaddress import IPv4Address
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from apuhost.settings.files import PinnedFile
from apuhost.settings.model import MAX_PORT, Model, each_once

Part = Literal["apt", "images", "models"]
"""What a mirror gives."""

Port = Annotated[int, Field(ge=1, le=MAX_PORT)]

_EVERYBODY = IPv4Address("255.255.255.255")
_LONGEST_NAME = 253
# As a certificate, a URL and the name of an image take it alike.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")


class MirrorSettings(Model):
    """The mirror role: where a site's own copies are, who serves them, who takes what of them."""

    mirror_address: str
    mirror_serve: bool
    mirror_parts: list[Part]
    mirror_registry_port: Port
    mirror_files_port: Port
    mirror_downloads: Annotated[int, Field(ge=1, le=1000)]
    mirror_files: list[PinnedFile]

    @property
    def numeric(self) -> bool:
        """Whether the address is one, not a name."""
        return _is_address(self.mirror_address)

    @property
    def registry(self) -> str:
        """The registry, as an image's name begins: ADDRESS:PORT."""
        return f"{self.mirror_address}:{self.mirror_registry_port}"

    @property
    def files(self) -> str:
        """The URL under which apt/ and models/ are, without a slash at its end."""
        return f"https://{self.mirror_address}:{self.mirror_files_port}"

    @field_validator("mirror_address")
    @classmethod
    def _reachable(cls, value: str) -> str:
        if value and not _is_name(value) and not _is_address(value):
            raise ValueError("no such address or name")
        return value

    @field_validator("mirror_serve")
    @classmethod
    def _somewhere(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("mirror_address") == "":
            raise ValueError("a mirror needs mirror_address, by which the hosts reach it")
        return value

    @field_validator("mirror_files")
    @classmethod
    def _once(cls, values: list[PinnedFile]) -> list[PinnedFile]:
        each_once(each.file_name.casefold() for each in values)
        return values

    @field_validator("mirror_files_port")
    @classmethod
    def _apart(cls, value: int, info: ValidationInfo) -> int:
        if value == info.data.get("mirror_registry_port"):
            raise ValueError("mirror_registry_port has that port")
        return value


def _is_address(value: str) -> bool:
    """An IPv4 address of one host; 0.0.0.0, groups and everybody are none.

    What is reserved is one here: masked facts have it in the place of public ones.
    """
    try:
        address = IPv4Address(value)
    except ValueError:
        return False
    return not (address.is_unspecified or address.is_multicast or address == _EVERYBODY)


def _is_name(value: str) -> bool:
    """A name that cannot be taken for an address: its last part is no number."""
    last = value.rpartition(".")[2]
    fits = len(value) <= _LONGEST_NAME and _NAME.fullmatch(value) is not None
    return fits and not last.isdigit()
