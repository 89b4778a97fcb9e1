"""Durations as Go reads and writes them; here nanoseconds in an int."""

from __future__ import annotations

import re
from decimal import Decimal

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
FOREVER = 2**63 - 1  # Go's longest duration, about 292 years

_UNITS = {
    "ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000,
    "s": SECOND, "m": MINUTE, "h": HOUR,
}  # fmt: skip
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(rf"([+-]?)((?:{_PART.pattern})+)")


def parse(text: str) -> int | None:
    """`1h30m`, `-1s`, `0`: nanoseconds; None for what time.ParseDuration refuses."""
    if text in {"0", "+0", "-0"}:
        return 0
    match = _WHOLE.fullmatch(text)
    if not match:
        return None
    total = sum(int(Decimal(number) * _UNITS[unit]) for number, unit in _PART.findall(match[2]))
    if total > FOREVER:
        return None
    return -total if match[1] == "-" else total


def text(nanoseconds: int) -> str:
    """As Go's Duration prints itself: `5m0s`, `1.5s`, `462.197µs`, `0s`."""
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest == 0:
        return "0s"
    for unit, size in (("ns", 1), ("µs", 1_000), ("ms", 1_000_000)):
        if rest < size * 1_000:
            return f"{sign}{_decimal(rest, size)}{unit}"
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    if hours:
        return f"{sign}{hours}h{minutes}m{_decimal(rest, SECOND)}s"
    if minutes:
        return f"{sign}{minutes}m{_decimal(rest, SECOND)}s"
    return f"{sign}{_decimal(rest, SECOND)}s"


def _decimal(value: int, size: int) -> str:
    whole, fraction = divmod(value, size)
    digits = f"{fraction:0{len(str(size)) - 1}d}".rstrip("0") if size > 1 else ""
    return f"{whole}.{digits}" if digits else str(whole)
