"""/proc/meminfo: how much memory the kernel manages."""

from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.pairs import pairs, whole_number

COMMAND = "cat /proc/meminfo"
_MOST_SHOWN = 40  # characters of what is no number


@dataclass(frozen=True)
class Meminfo:
    """KiB, as the file's "kB" means (Documentation/filesystems/proc.rst)."""

    total_kib: int
    available_kib: int | None


def parse(text: str) -> Meminfo:
    """Read /proc/meminfo.

    Raises:
        ParseError: no MemTotal in it, or no number that can be one.
    """
    values = {key: value.removesuffix("kB").strip() for key, value in pairs(text, ":")}
    if "MemTotal" not in values:
        raise ParseError("no MemTotal line")
    total = whole_number(values["MemTotal"])
    if not total:
        shown = values["MemTotal"][:_MOST_SHOWN]
        raise ParseError(f"MemTotal is {shown!r}, not a number above 0 of at most 20 digits")
    return Meminfo(total, whole_number(values.get("MemAvailable")))
