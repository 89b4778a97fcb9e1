"""The one script that runs every probe on a host, and its output taken apart again."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from apuhost.probes import dpkg_status, generation, model_blobs, outbound, repetition
from apuhost.probes.container_commands import CHOOSE, CONTAINER
from apuhost.probes.pairs import whole_number

_NAMES = (
    "machine", "os_release", "kernel", "cmdline", "meminfo", "boot", "loader", "grub", "grub_cfg",
    "modprobe", "modules", "gpus", "gpu_firmware", "iommu", "cpuinfo", "dmi_memory", "kernel_log",
    "disk", "packages", "apt_sources", "accounts", "nodes", "vulkaninfo", "docker", "daemon_json",
    "containers", "container_packages", "compose", "ollama_api", "model_store", "runners",
    "ollama_log", "units", "firewall", "mirror", "mirror_serving", "mirror_answers", "boots",
)  # fmt: skip
"""Modules of apuhost.probes, in the order of asking."""

PROBES: Mapping[str, ModuleType] = {
    name: import_module(f"apuhost.probes.{name}") for name in _NAMES
}

ACTIVE_PROBES: Mapping[str, ModuleType] = {
    "generation": generation,
    "repetition": repetition,
    "model_blobs": model_blobs,
}
"""Asked only when somebody wants it (--active): they make the host work."""

SAVED_PROBES: Mapping[str, ModuleType] = {"dpkg_status": dpkg_status}
"""Asked only when facts are saved: who judges the host on the spot asks the host itself."""

CUT_PROBES: Mapping[str, ModuleType] = {"outbound": outbound}
"""Asked only of a host that is cut off, or will be."""

_EVERY: Mapping[str, ModuleType] = {**PROBES, **ACTIVE_PROBES, **SAVED_PROBES, **CUT_PROBES}

_JUDGED_ONLY = frozenset(
    {"boots", "container_packages", "cpuinfo", "dmi_memory", "gpu_firmware", "iommu", "kernel_log"}
    | {"mirror_answers", "ollama_log", "runners", "vulkaninfo"}
)

DECIDING = tuple(name for name in PROBES if name not in _JUDGED_ONLY)
"""Probes that decide what a deploy changes or refuses; the others are for verdicts alone."""

PROBE_TIMEOUT_S = 30
"""For a probe that does not say its own TIMEOUT_S."""


@dataclass(frozen=True)
class Reading:
    """What one probe printed, and the exit status of its command."""

    text: str
    status: int


def script(mark: str, names: Iterable[str] = tuple(PROBES)) -> str:
    """The one script that runs these probes; `mark` frames what each one prints.

    The mark is new for every run, so that no file's content can imitate it.
    """
    lines = [
        "export LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        f"""probe() {{
  printf '{mark} begin %s\\n' "$1"
  timeout "${{3:-{PROBE_TIMEOUT_S}}}" sh -c "$2" 2>/dev/null </dev/null
  printf '\\n{mark} end %s %d\\n' "$1" "$?"
}}""",
    ]
    commands = {name: _EVERY[name].COMMAND for name in names}
    lines += [CHOOSE] if any(CONTAINER in command for command in commands.values()) else []
    lines += [
        f"probe {name} {shlex.quote(command)}{_limit(name)}" for name, command in commands.items()
    ]
    return "\n".join(lines)


def _limit(name: str) -> str:
    seconds = getattr(_EVERY[name], "TIMEOUT_S", None)
    return f" {seconds}" if seconds else ""


def unframe(mark: str, text: str) -> dict[str, Reading]:
    """The readings in the script's output; what was cut off before its end mark is left out."""
    readings = {}
    for name in _EVERY:
        _, began, rest = text.partition(f"{mark} begin {name}\n")
        body, ended, tail = rest.partition(f"\n{mark} end {name} ")
        number, whole, _ = tail.partition("\n")
        status = whole_number(number)
        if began and ended and whole and status is not None:
            readings[name] = Reading(body, status)
    return readings
