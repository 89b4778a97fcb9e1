"""`vulkaninfo --summary`: the devices that Vulkan lists on the host, each with its driver.

Devices are told by ids, never by one literal name: RADV's names change with Mesa's and
libdrm's releases. llvmpipe beside a GPU is normal. The long form of vulkaninfo, and lines
picked out of either with grep, are read too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from apuhost.hardware import AMD
from apuhost.probes import ParseError
from apuhost.probes.plain_text import plain

_MOST_BYTES = 256 * 1024
_TIMEOUT_S = 20
_ABSENT = "vulkaninfo is not installed"

# Without a display only the devices are asked; Mesa would write its shader cache.
COMMAND = f"""
command -v vulkaninfo >/dev/null || {{ echo '{_ABSENT}'; exit 0; }}
unset DISPLAY WAYLAND_DISPLAY
export MESA_SHADER_CACHE_DISABLE=true
{{
  timeout {_TIMEOUT_S} vulkaninfo --summary 2>&1
  [ $? -ne 124 ] || echo 'vulkaninfo: error: no answer in {_TIMEOUT_S} seconds'
}} | head -c {_MOST_BYTES}
"""

_KEYS = {
    "deviceName": "name",
    "vendorID": "vendor_id",
    "deviceID": "device_id",
    "deviceType": "type",
    "driverID": "driver_id",
    "driverName": "driver_name",
    "driverInfo": "driver_info",
    "apiVersion": "api_version",
}
_KEY = "|".join(_KEYS)
_FIELD = re.compile(rf"(?<![A-Za-z])((?:{_KEY})(?:/(?:{_KEY}))*)[ \t]*=(.*)")
_HEADING = re.compile(r"(?<![A-Za-z0-9_])GPU([0-9]{1,4})(?::(.*)|[ \t]*)$")
_BANNER = re.compile(r"(?m)(?:^|[ \t|:])VULKANINFO[ \t]*$")
_BEGUN = re.compile(r"(?m)^[^\n]{0,80}(?:VULKANINFO|Vulkan Instance Version)")
# A name or version that a mail program broke before its parentheses or inside of them.
_BREAKABLE = re.compile(r"deviceName|driverInfo")
_BROKEN_OFF = re.compile(r"[ \t]*(?:\([^=]*|[^=()]*)\)[ \t]*")
# What it prints besides devices, and what it, the loader or a shell says instead of them.
_OWN_LINES = re.compile(
    r"(?m)VULKANINFO[ \t\r]*$|Vulkan Instance Version|^[ \t]*Devices:[ \t\r]*$"
    r"|\bVK_\w+[ \t]*: extension|\bVK_LAYER_\w+ [^\n]{0,120}version|\bvulkaninfo\.h:"
    r"|annot create Vulkan instance|\bvk[A-Z]\w+(?:: | failed)"
    r"|(?i:error): [^\n]{0,200}VK_ERROR_|(?:^|: )vulkaninfo: |not found: vulkaninfo"
    rf"|ommand '?vulkaninfo'? not found|{_ABSENT}"
)
_TROUBLE = re.compile(
    r"(?i)\berror|cannot|failed to|\bnot (?:found|installed)|segmentation fault|\bvulkaninfo:"
)
_NO_TROUBLE = re.compile(r"XDG_RUNTIME_DIR|DISPLAY|extension revision")
_MOST_TROUBLES = 8
_DRIVER_FIELDS_SINCE = (1, 2)  # the Vulkan version that made them a part of its core


@dataclass(frozen=True)
class Device:
    """One device; every value as printed ("0x1002"), None where the text does not tell it.

    `index` is None where no heading tells it, as in lines picked out with grep.
    """

    index: int | None
    name: str | None
    vendor_id: str | None
    device_id: str | None
    type: str | None
    driver_id: str | None
    driver_name: str | None
    driver_info: str | None
    api_version: str | None

    @property
    def cpu(self) -> bool:
        """Whether it is a processor that draws, such as llvmpipe."""
        return "llvmpipe" in (self.name or "") or (self.type or "").endswith("CPU")

    @property
    def radv(self) -> bool:
        """Whether Mesa's RADV drives it: told by vendor, type and driver, not by its name.

        RADV drives no other vendor's device, so a vendor that is not told counts as AMD.
        """
        driven = (self.driver_id or "").endswith("MESA_RADV") or self.driver_name == "radv"
        vendor = (self.vendor_id or f"0x{AMD}").lower()
        return driven and vendor == f"0x{AMD}" and not self.cpu


@dataclass(frozen=True)
class Vulkaninfo:
    """The devices of the last run in the text.

    `error`: what vulkaninfo or a driver said, if no GPU is listed; None when one is, as the
    loader also complains about drivers that nobody needs. `complete` is False where the text
    ends before the devices or inside of them: then it tells nothing of what is missing.
    """

    devices: tuple[Device, ...]
    error: str | None
    complete: bool

    @property
    def radv(self) -> tuple[Device, ...]:
        """The devices that RADV drives."""
        return tuple(device for device in self.devices if device.radv)


def parse(text: str) -> Vulkaninfo:
    """Read what vulkaninfo prints, whole, cut or prefixed.

    Raises:
        ParseError: nothing in the text is vulkaninfo's.
    """
    shown = plain(text)
    lines = _mended(_BANNER.split(shown)[-1].split("\n"))
    devices = tuple(_device(slot, values) for slot, values in _values(lines).items())
    if not devices and shown.strip() and not _OWN_LINES.search(shown):
        raise ParseError("no line of vulkaninfo's in it")
    # The banner may come after what was said on standard error.
    gpu = any(device.name and not device.cpu for device in devices)
    errors = [] if gpu else _troubles(shown.split("\n"))
    # It prints its version when it has counted the devices: an error before is its whole answer.
    answered = bool(errors) and not _BEGUN.search(shown)
    return Vulkaninfo(
        devices,
        "; ".join(errors) or None,
        _whole(devices[-1]) and not _FIELD.search(lines[-1]) if devices else answered,
    )


def _mended(lines: Iterable[str]) -> list[str]:
    mended: list[str] = []
    before = ""
    for line in lines:
        if _BREAKABLE.search(before) and _BROKEN_OFF.fullmatch(line):
            mended[-1] = f"{before.rstrip()} {line.strip()}"
        else:
            mended.append(line)
        before = line
    return mended


def _values(lines: Iterable[str]) -> dict[int, dict[str, str]]:
    """The fields of every device by its index, or by a negative number where none is told.

    The long form names a device several times: the first value of a field stays. Lines without
    a heading go on with a next device when a field comes again.
    """
    devices: dict[int, dict[str, str]] = {}
    slot = -1
    for line in lines:
        if heading := _HEADING.search(line):
            slot = int(heading[1])
            devices.setdefault(slot, {})
        for name, value in _fields(line):
            if slot < 0 and name in devices.get(slot, {}):
                slot -= 1
            devices.setdefault(slot, {}).setdefault(name, value)
    return devices


def _fields(line: str) -> Iterator[tuple[str, str]]:
    """The fields of a line: `key = value`, `key/key = value / value`, or `GPU1: name`."""
    if found := _FIELD.search(line):
        keys = found[1].split("/")
        values = found[2].split("/") if len(keys) > 1 else [found[2]]
        for key, value in zip(keys, values, strict=False):
            if value.strip():
                yield _KEYS[key], value.strip()
    elif (heading := _HEADING.search(line)) and (name := (heading[2] or "").strip()):
        yield "name", name


def _troubles(lines: Iterable[str]) -> list[str]:
    """What the loader, a driver or the shell said, each line once."""
    said = (
        line.strip()
        for line in lines
        if _TROUBLE.search(line) and not _NO_TROUBLE.search(line) and not _FIELD.search(line)
    )
    return list(islice(dict.fromkeys(said), _MOST_TROUBLES))


def _device(slot: int, values: Mapping[str, str]) -> Device:
    index = slot if slot >= 0 else None
    return Device(index=index, **{name: values.get(name) for name in _KEYS.values()})


def _whole(device: Device) -> bool:
    """Whether the last device is told to its end; Vulkan 1.0 and 1.1 may lack a driver's fields."""
    version = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", device.api_version or "")
    new = version is not None and (int(version[1]), int(version[2])) >= _DRIVER_FIELDS_SINCE
    told = None not in (device.index, device.name)
    return told and (device.driver_info is not None or not new)
