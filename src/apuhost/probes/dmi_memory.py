"""The memory modules as the firmware's DMI table (SMBIOS type 17) describes them.

dmidecode prints that table; without it systemd's udev tells the same fields (dmi_memory_id, since
systemd 248). Serial numbers and part numbers are left out.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.pairs import whole_number

COMMAND = """
dmidecode -q -t 17 | grep -E '^Memory Device|^[[:space:]]+(Size|Locator|Type|Speed):|Configured .* Speed:' ||
  udevadm info -q property -p /devices/virtual/dmi/id |
  grep -E '^MEMORY_DEVICE_[0-9]+_(SIZE|LOCATOR|TYPE|SPEED_MTS|CONFIGURED_SPEED_MTS)=' ||
  echo none
"""  # noqa: E501 -- one pattern

_DEVICE = "Memory Device"
_UDEV = re.compile(r"MEMORY_DEVICE_([0-9]{1,4})_(SIZE|LOCATOR|TYPE|SPEED_MTS|CONFIGURED_SPEED_MTS)")
# dmidecode's words before 3.2, and since.
_FIELDS = {
    "Size": "SIZE",
    "Locator": "LOCATOR",
    "Type": "TYPE",
    "Speed": "SPEED_MTS",
    "Configured Memory Speed": "CONFIGURED_SPEED_MTS",
    "Configured Clock Speed": "CONFIGURED_SPEED_MTS",
}
_UNITS = {"": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


@dataclass(frozen=True)
class MemoryModule:
    """One module that is there; speeds in MT/s: what it may run at, and what it was set to."""

    locator: str | None
    type: str | None
    size_bytes: int
    rated_mts: int | None
    configured_mts: int | None


@dataclass(frozen=True)
class DmiMemory:
    """Every module with a size, in the table's order; empty slots are left out."""

    modules: tuple[MemoryModule, ...]


def parse(text: str) -> DmiMemory:
    """Read the lines that COMMAND prints, of either program.

    Raises:
        ParseError: neither program told of a module or an empty slot.
    """
    devices = [*_of_dmidecode(text), *_of_udev(text)]
    if not devices:
        raise ParseError("neither dmidecode nor udev tells of memory modules")
    return DmiMemory(tuple(module for fields in devices if (module := _module(fields))))


def _of_dmidecode(text: str) -> Iterator[Mapping[str, str]]:
    fields: dict[str, str] | None = None
    for line in text.split("\n"):
        if line.startswith(_DEVICE):
            if fields is not None:
                yield fields
            fields = {}
        key, colon, value = line.strip().partition(":")
        if fields is not None and colon and key in _FIELDS:
            fields.setdefault(_FIELDS[key], value.strip())
    if fields is not None:
        yield fields


def _of_udev(text: str) -> Iterator[Mapping[str, str]]:
    devices: dict[str, dict[str, str]] = {}
    for line in text.split("\n"):
        key, _, value = line.partition("=")
        if found := _UDEV.fullmatch(key.strip()):
            devices.setdefault(found[1], {})[found[2]] = value.strip()
    yield from devices.values()


def _module(fields: Mapping[str, str]) -> MemoryModule | None:
    size = _bytes(fields.get("SIZE", ""))
    if not size:
        return None
    return MemoryModule(
        locator=fields.get("LOCATOR") or None,
        type=fields.get("TYPE") or None,
        size_bytes=size,
        rated_mts=_mts(fields.get("SPEED_MTS", "")),
        configured_mts=_mts(fields.get("CONFIGURED_SPEED_MTS", "")),
    )


def _bytes(text: str) -> int | None:
    """`32 GB`, `16384 MB` (both binary), or udev's bytes; None for `No Module Installed`."""
    number, _, unit = text.partition(" ")
    count = whole_number(number)
    return None if count is None or unit not in _UNITS else count * _UNITS[unit]


def _mts(text: str) -> int | None:
    """`5600 MT/s`, `5600 MHz` (before dmidecode 3.1), or udev's number; None for Unknown and 0."""
    number, _, unit = text.partition(" ")
    return whole_number(number) or None if unit in {"", "MT/s", "MHz"} else None
