"""What the ollama role may be told."""

import re
from collections.abc import Mapping
from functools import partial
from ipaddress import IPv4Network, collapse_addresses, ip_address, ip_network
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from apuhost import environment
from apuhost.nearest import hint
from apuhost.settings import rewriting
from apuhost.settings.model import MAX_PORT, Model, each_once, refuse

IMAGE = re.compile(
    r"(?P<name>[a-z0-9.-]+(?::[0-9]+)?(?:/[a-z0-9._-]+)*)"
    r":(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})@(?P<digest>sha256:[0-9a-f]{64})"
)
"""NAME:TAG@sha256:DIGEST, as the distribution specification spells references."""

_PROJECT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{1,127}")
_LISTEN = re.compile(r"(?P<address>[0-9.]+|\[[0-9a-f:]+\]):(?P<port>[1-9][0-9]{0,4})")
_BROADCAST = ip_network("255.255.255.255")
_NETWORK = re.compile(r"[0-9A-Fa-f:.]+(/[0-9.]+)?")
_DURATION = re.compile(r"([0-9]{1,5}(\.[0-9]{1,3})?(h|m|s|ms)){1,4}")
_PLAIN = re.compile(r"[\x20-\x23\x25-\x7e]*")
IPV4 = 4

OWN_VARIABLES = {
    "OLLAMA_CONTEXT_LENGTH": "ollama_context_length",
    "OLLAMA_FLASH_ATTENTION": "ollama_flash_attention",
    "OLLAMA_HOST": "ollama_listen",
    "OLLAMA_IGPU_ENABLE": "ollama_igpu_enable",
    "OLLAMA_KEEP_ALIVE": "ollama_keep_alive",
    "OLLAMA_KV_CACHE_TYPE": "ollama_kv_cache_type",
    "OLLAMA_NO_CLOUD": "ollama_no_cloud",
    "OLLAMA_NUM_PARALLEL": "ollama_num_parallel",
    "OLLAMA_VULKAN": "ollama_backend",
    "LLAMA_ARG_CACHE_RAM": "ollama_prompt_cache_mib",
    "LLAMA_ARG_CACHE_TYPE_K": "ollama_kv_cache_type",
    "LLAMA_ARG_CACHE_TYPE_V": "ollama_kv_cache_type",
    "LLAMA_ARG_FLASH_ATTN": "ollama_flash_attention",
    "OLLAMA_MODELS": "ollama_volume",
    "HSA_OVERRIDE_GFX_VERSION": "ollama_backend",
}
"""Variables that a setting of their own speaks for."""


class OllamaSettings(Model):
    """The ollama role: the compose project, its environment, who reaches it."""

    ollama_image: str
    ollama_backend: Literal["vulkan", "rocm"]
    ollama_listen: str
    ollama_allow_from: list[str]
    ollama_project: str
    ollama_container_name: str
    ollama_volume: str
    ollama_context_length: Annotated[int, Field(ge=0, le=10_000_000)]
    ollama_keep_alive: Annotated[int, Field(ge=-1, le=1_000_000_000)] | str
    ollama_num_parallel: Annotated[int, Field(ge=1, le=64)]
    ollama_no_cloud: bool
    ollama_igpu_enable: bool
    ollama_flash_attention: Literal["auto", "on", "off"]
    ollama_kv_cache_type: Literal["f16", "q8_0", "q4_0"]
    ollama_prompt_cache_mib: Annotated[int, Field(ge=0, le=1_048_576)]
    ollama_environment: dict[str, bool | int | str]

    @property
    def digest(self) -> str:
        """The image's digest, with its "sha256:"."""
        return self.ollama_image.partition("@")[2]

    @property
    def version(self) -> str:
        """Ollama's version, as the image's tag says it."""
        return self.ollama_image.partition("@")[0].rpartition(":")[2]

    @property
    def keeps_none(self) -> bool:
        """Whether a model goes as soon as it has answered: a keep_alive of nothing."""
        return not re.search("[1-9]", str(self.ollama_keep_alive))

    @property
    def address(self) -> str:
        """The address part of ollama_listen, without brackets."""
        return self.ollama_listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port part of ollama_listen."""
        return int(self.ollama_listen.rpartition(":")[2])

    @property
    def loopback(self) -> bool:
        """Whether only the host itself reaches the API."""
        return ip_address(self.address).is_loopback

    @property
    def everybody(self) -> bool:
        """Whether ollama_allow_from keeps nobody away: it is empty, or has all of IPv4."""
        networks = collapse_addresses(map(IPv4Network, self.ollama_allow_from))
        return not self.ollama_allow_from or any(each.prefixlen == 0 for each in networks)

    @field_validator("ollama_image")
    @classmethod
    def _pinned(cls, value: str) -> str:
        if IMAGE.fullmatch(value):
            return value
        raise ValueError("no digest" if "@" not in value else "not such a name")

    @field_validator("ollama_backend")
    @classmethod
    def _backend(cls, value: str, info: ValidationInfo) -> str:
        # The default image has no ROCm, the -rocm image has no Vulkan (Ollama's Dockerfile).
        tag = str(info.data.get("ollama_image", "")).partition("@")[0].rpartition(":")[2]
        if tag and ("rocm" in tag) != (value == "rocm"):
            raise ValueError(f"not in the image {tag}")
        return value

    @field_validator("ollama_listen")
    @classmethod
    def _listen(cls, value: str) -> str:
        match = _LISTEN.fullmatch(value)
        if not match or not 1 <= int(match["port"]) <= MAX_PORT:
            raise ValueError("no such address and port")
        address = match["address"].strip("[]")
        try:
            usual = str(ip_address(address))
        except ValueError as error:
            raise ValueError("no such address") from error
        if address != usual:
            raise ValueError(f"write it as {usual}")
        return value

    @field_validator("ollama_allow_from")
    @classmethod
    def _networks(cls, values: list[str], info: ValidationInfo) -> list[str]:
        # On a network without IPv6, docker-proxy serves such an address: past FORWARD.
        if values and "[" in str(info.data.get("ollama_listen", "")):
            raise ValueError("Docker guards no port on an IPv6 address: listen on an IPv4 one")
        refuse(map(_no_network, values))
        each_once(str(ip_network(value)) for value in values)
        return values

    @field_validator("ollama_project")
    @classmethod
    def _project(cls, value: str) -> str:
        if not _PROJECT.fullmatch(value):
            raise ValueError("compose takes no such name")
        return value

    @field_validator("ollama_container_name", "ollama_volume")
    @classmethod
    def _name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError("docker takes no such name")
        return value

    @field_validator("ollama_keep_alive")
    @classmethod
    def _duration(cls, value: int | str) -> int | str:
        if isinstance(value, str) and not _DURATION.fullmatch(value):
            number = value.strip().lstrip("-").isdecimal()
            raise ValueError("write seconds without quotes" if number else "no duration")
        return value

    @field_validator("ollama_kv_cache_type")
    @classmethod
    def _cache(cls, value: str, info: ValidationInfo) -> str:
        # Ollama hands both on, and llama.cpp makes no context of the two (llama-context.cpp).
        if value != "f16" and info.data.get("ollama_flash_attention") == "off":
            raise ValueError("it needs flash attention, and ollama_flash_attention is off")
        return value

    @field_validator("ollama_environment", mode="before")
    @classmethod
    def _variables(cls, values: object) -> object:
        if isinstance(values, Mapping):
            refuse(_no_variable(name, value) for name, value in values.items())
        return values


def _no_network(text: str) -> str:
    """Why nobody of such a network comes to the port; "" for a network of IPv4."""
    try:
        network = ip_network(text) if _NETWORK.fullmatch(text) else None
    except ValueError:
        network = None
    if network is None:
        return f"{text!r} is no network"
    if network.version != IPV4:
        return f"{text!r} is of IPv6, whence nobody comes to an IPv4 address"
    if network.is_loopback:
        return f"{text!r} is the host itself, which reaches the port in any case"
    # What else is reserved (240.0.0.0/4) stands for public addresses in masked facts.
    if network.is_unspecified or network.is_multicast or network == _BROADCAST:
        return f"{text!r} is no sender's address"
    return ""


def _no_variable(name: object, value: object) -> str:
    """What is wrong with a variable of Ollama's; "" where nothing is."""
    return _no_name(name) or _no_value(str(name), value)


def _no_name(name: object) -> str:
    if not isinstance(name, str):
        return f"{name!a} is no name"
    if name in OWN_VARIABLES:
        return f"{name} has a setting of its own: {OWN_VARIABLES[name]}"
    if environment.secret(name):
        # compose.yaml and docker inspect would show it to every user of the host.
        return f"{name} looks like a secret, and everybody on the host could read it"
    if name in environment.VARIABLES or environment.passed_on(name):
        return ""
    return f"Ollama knows no {name!a}{hint(name, environment.VARIABLES)}"


def _no_value(name: str, value: object) -> str:
    if not environment.fits(name, value):
        instead = rewriting.hint(value, partial(environment.fits, name))
        return f"{name} takes {environment.VARIABLES.get(name, environment.TEXT)}{instead}"
    if not _PLAIN.fullmatch(str(value)):
        return f"{name}: printable ASCII, and no $, which compose would replace"
    return ""
