"""A file that a bundle takes along: where it is, and what its bytes are."""

import re
from urllib.parse import unquote, urlsplit

from pydantic import field_validator, model_validator

from apuhost.settings.model import Model

_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+~-]{0,199}(?<!\.)")


class PinnedFile(Model):
    """A file by its URL and SHA-256; it gets `name`, or the last part of the URL's path."""

    url: str
    sha256: str
    name: str = ""

    @property
    def file_name(self) -> str:
        """What it is called in the bundle."""
        return self.name or unquote(urlsplit(self.url).path.rpartition("/")[2])

    @field_validator("url")
    @classmethod
    def _address(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
        except ValueError as error:
            raise ValueError("no such address") from error
        if parts.scheme not in ("http", "https") or not parts.hostname or not value.isprintable():
            raise ValueError("not https://HOST/PATH")
        if "@" in parts.netloc:
            raise ValueError("its address has a login, which a lock would tell")
        return value

    @field_validator("sha256")
    @classmethod
    def _digest(cls, value: str) -> str:
        plain = value.removeprefix("sha256:")
        if not _SHA256.fullmatch(plain):
            raise ValueError("not 64 hex digits")
        return plain

    @model_validator(mode="after")
    def _named(self) -> "PinnedFile":
        if not _NAME.fullmatch(self.file_name):
            raise ValueError(
                f"{self.file_name!r} is no name for a file: give one as name, of letters, digits"
                " and . _ + ~ -"
            )
        return self
