"""Devices to compute on, as Ollama's server and llama.cpp's programs name them in a log.

The server prints one slog line per device; llama.cpp prints several lines, each with a part.
A name proves nothing: a CPU's may hold the word Radeon, and `type=iGPU` also stands beside Metal.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from apuhost.probes.slog import attributes

_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(B|KiB|MiB|GiB|TiB)")
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_MIB = 2**20

# NAME may hold brackets of its own; the driver stands in the last ones before the first bar.
_GGML_VULKAN = re.compile(r"ggml_vulkan: ([0-9]{1,3}) = ([^|]*) \(([^()|]*)\) \|(.*)")
_USING = re.compile(
    r"using device ([A-Za-z]+[0-9]{1,3}) \((.*?)\)"
    r"(?: \((?:unknown id|([0-9a-fA-F:.]{4,20}))\))? - ([0-9]{1,9}) MiB free"
)
_LISTED = re.compile(
    r"[\s-]*([A-Za-z]+[0-9]{1,3}) *: (.*) \(([0-9]{1,9}) MiB, ([0-9]{1,9}) MiB free\)\s*$"
)
_LIBRARY = re.compile(r"Library:(\w+)")
LLAMA_LINE = re.compile(r"ggml_vulkan: |using device |MiB free\)")
"""What a line of llama.cpp's about a device holds."""


@dataclass(frozen=True)
class ComputeDevice:
    """One device; texts as printed, sizes in bytes, None where the log does not tell it.

    `driver_name` is Vulkan's, and only in llama.cpp's lines. The total of an integrated GPU is
    the sum of all its memory heaps: evidence, not the kernel's limit.
    """

    library: str | None
    type: str | None
    name: str | None
    description: str | None
    pci_id: str | None
    total_bytes: int | None
    available_bytes: int | None
    driver_name: str | None = None

    @property
    def radv(self) -> bool:
        """Whether it is used through Vulkan and Mesa's RADV."""
        named = "(RADV " in (self.description or "") or self.driver_name == "radv"
        return self.library == "Vulkan" and named


def server_device(line: str) -> ComputeDevice | None:
    """Return the device of a line of the server's; None if it is cut before the library."""
    values = attributes(line)
    if "library" not in values:
        return None
    return ComputeDevice(
        library=values["library"],
        type=values.get("type"),
        name=values.get("name"),
        description=values.get("description"),
        pci_id=values.get("pci_id"),
        total_bytes=_bytes(values.get("total")),
        available_bytes=_bytes(values.get("available")),
    )


def libraries_of_runner(line: str) -> tuple[str, ...]:
    """Return the libraries that a runner computes with, as the scheduler's debug lines name them.

    To 0.12.3 the value is one word, after that a list: `[{ID:0 Library:Vulkan}]`.
    """
    value = attributes(line).get("runner.inference", "")
    return tuple(_LIBRARY.findall(value)) or tuple(re.findall(r"^\w+$", value))


def add_llama_device(devices: dict[str, ComputeDevice], line: str) -> None:
    """Put what a line of llama.cpp's tells about a device to what is known of it.

    The keys are the device's names; a Vulkan device that another line describes otherwise is
    another one, as when two logs were put together.
    """
    for key, found in _llama_devices(devices, line):
        known = devices.get(key)
        devices[key] = found if known is None else _merged(known, found)


def _llama_devices(
    devices: Mapping[str, ComputeDevice], line: str
) -> Iterator[tuple[str, ComputeDevice]]:
    if found := _GGML_VULKAN.search(line):
        index, description, driver, features = found.groups()
        name = f"Vulkan{index}"
        same = devices.get(name)
        other = same is not None and (same.description, same.driver_name) != (description, driver)
        yield (
            f"{name} {description} {driver} {features}" if other else name,
            ComputeDevice("Vulkan", None, None, description, None, None, None, driver),
        )
    if found := _USING.search(line):
        name, description, pci_id, free = found.groups()
        free_bytes = int(free) * _MIB
        yield name, ComputeDevice(_library(name), None, name, description, pci_id, None, free_bytes)
    if found := _LISTED.match(line):
        name, description, total, free = found.groups()
        sizes = int(total) * _MIB, int(free) * _MIB
        yield name, ComputeDevice(_library(name), None, name, description, None, *sizes)


def _library(name: str) -> str:
    return name.rstrip("0123456789")


def _merged(known: ComputeDevice, found: ComputeDevice) -> ComputeDevice:
    """The newer text wins, but for what it does not tell."""
    return replace(
        found,
        name=found.name or known.name,
        pci_id=found.pci_id or known.pci_id,
        total_bytes=found.total_bytes or known.total_bytes,
        available_bytes=found.available_bytes or known.available_bytes,
        driver_name=found.driver_name or known.driver_name,
    )


def _bytes(size: str | None) -> int | None:
    """Ollama rounds to a tenth of a unit, so this is no exact number either."""
    found = _SIZE.fullmatch(size or "")
    return round(float(found[1]) * _UNITS[found[2]]) if found else None
