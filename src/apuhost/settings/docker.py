"""What the docker role may be told."""

import re
import ssl
from typing import Annotated, Literal

from pydantic import Field, field_validator

from apuhost.settings.model import MAX_PORT, Model, each_once, refuse
from apuhost.settings.vulkan import User

# They stand in quotes in apt.conf(5) and in a unit, whose escapes are no part of an address.
_PROXY = re.compile(
    r"https?://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\]):(?P<port>[1-9][0-9]{0,4})"
)
_UNPROXIED = re.compile(r"\*|(?:\*?\.)?[A-Za-z0-9:][A-Za-z0-9.:-]*(?:/[0-9]{1,3})?")
_DATA_ROOT = re.compile(r"(/[A-Za-z0-9._-]+)+")
_CERTIFICATE = re.compile(
    r"-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+-----END CERTIFICATE-----\n?"
)


class DockerSettings(Model):
    """The docker role: the engine, its logs and data, proxy and site certificates."""

    docker_source: Literal["auto", "distro", "docker-ce"]
    docker_users: list[User]
    docker_data_root: str
    docker_log_max_mb: Annotated[int, Field(ge=1, le=10_000)]
    docker_log_files: Annotated[int, Field(ge=1, le=100)]
    docker_proxy: str
    docker_no_proxy: list[str]
    docker_site_ca: str

    @field_validator("docker_data_root")
    @classmethod
    def _absolute(cls, value: str) -> str:
        if value and (not _DATA_ROOT.fullmatch(value) or ".." in value.split("/")):
            raise ValueError("not an absolute path of plain letters")
        return value

    @field_validator("docker_proxy")
    @classmethod
    def _address(cls, value: str) -> str:
        if not value:
            return value
        if "@" in value:
            # The files that hold it are for everybody to read.
            raise ValueError("a password in it would be readable by every user of the host")
        match = _PROXY.fullmatch(value)
        if not match or int(match["port"]) > MAX_PORT:
            raise ValueError("http://HOST:PORT and no more")
        return value

    @field_validator("docker_no_proxy")
    @classmethod
    def _places(cls, values: list[str]) -> list[str]:
        refuse(
            f"{value!r} is no name, address, network or .domain"
            for value in values
            if not _UNPROXIED.fullmatch(value)
        )
        each_once(map(str.lower, values))
        return values

    @field_validator("docker_site_ca")
    @classmethod
    def _certificates(cls, value: str) -> str:
        if "PRIVATE KEY" in value:
            raise ValueError("it holds a private key")
        rest = _CERTIFICATE.sub("", value)
        if value and (rest.strip() or rest == value):
            raise ValueError("it is not PEM text of certificates alone")
        for pem in _CERTIFICATE.findall(value):
            if not ssl.PEM_cert_to_DER_cert(pem).startswith(b"\x30"):  # a SEQUENCE, as X.509 is
                raise ValueError("it is no certificate")
        return value
