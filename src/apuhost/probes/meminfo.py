"""/proc/meminfo: how much memory the kernel manages."""

from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.pairs import pairs, whole_number

COMMAND = "cat /proc/meminfo"


@dataclass(frozen=True)
class Meminfo:
    """KiB, as the file's "kB" means (Documentation/filesystems/proc.rst)."""

    total_kib: int
    available_kib: int | None


def parse(text: str) -> Meminfo:
    """Read /proc/meminfo.

    Raises:
        ParseError: no MemTotal in it.
    """
    values = {key: value.removesuffix("kB") for key, value in pairs(text, ":")}
    total = whole_number(values.get("MemTotal"))
    if not total:
        raise ParseError("no MemTotal line")
    return Meminfo(total, whole_number(values.get("MemAvailable")))
