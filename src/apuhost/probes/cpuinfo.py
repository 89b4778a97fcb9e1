"""/proc/cpuinfo: which processor, and what it offers (its first entry; all cores have the same)."""

from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.pairs import pairs

COMMAND = "sed '/^$/q' /proc/cpuinfo"


@dataclass(frozen=True)
class Cpu:
    """Vendor and model as printed, and the flags (Documentation/arch/x86/cpuinfo.rst)."""

    vendor: str | None
    model: str | None
    flags: frozenset[str]


def parse(text: str) -> Cpu:
    """Read the first processor of /proc/cpuinfo.

    Raises:
        ParseError: no line of flags in it.
    """
    first = text.partition("\n\n")[0]
    values = dict(pairs(first, ":"))
    if "flags" not in values:
        raise ParseError("no line of flags")
    return Cpu(
        values.get("vendor_id") or None,
        values.get("model name") or None,
        frozenset(values["flags"].split()),
    )
