"""What the vulkan role may be told."""

import re
from typing import Annotated

from pydantic import AfterValidator

from apuhost.settings.model import Model

_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
# For apt-get, NAME- removes, and what it does not know is a pattern if a . stands in it.
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*[a-z0-9+]")


def _user(name: str) -> str:
    if not _USER.fullmatch(name):
        raise ValueError(f"{name!r} is not a user's name")
    return name


def _package(name: str) -> str:
    if not _PACKAGE.fullmatch(name):
        raise ValueError(f"{name!r} is not a package's name")
    return name


User = Annotated[str, AfterValidator(_user)]
"""A user's name as useradd takes it (shadow's own pattern)."""


class VulkanSettings(Model):
    """The vulkan role: packages, firmware, access to the device nodes."""

    vulkan_packages: list[Annotated[str, AfterValidator(_package)]]
    vulkan_users: list[User]
