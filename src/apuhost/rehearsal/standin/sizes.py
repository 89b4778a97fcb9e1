"""Numbers as Ollama prints them for people."""

from __future__ import annotations

MIB = 1024**2
GIB = 1024**3
_TEN = 10
_THOUSAND, _MILLION, _BILLION = 10**3, 10**6, 10**9


def binary(count: int) -> str:
    """In the log: `59.0 GiB`, `457.0 MiB`, `0 B` (format.HumanBytes2)."""
    for unit, size in (("GiB", GIB), ("MiB", MIB), ("KiB", 1024)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def decimal(count: int) -> str:
    """On the command line: `21 GB`, `1.5 GB`, `257 KB` (format.HumanBytes)."""
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= size:
            value = count / size
            whole = value >= _TEN or value == int(value)
            return f"{int(value)} {unit}" if whole else f"{value:.1f} {unit}"
    return f"{count} B"


def parameters(count: int) -> str:
    """A model's size: `124K`, `1.24M`, `35.5B` (format.HumanNumber)."""
    if count >= _BILLION:
        value = count / _BILLION
        return f"{value:.0f}B" if value == int(value) else f"{value:.1f}B"
    if count >= _MILLION:
        value = count / _MILLION
        return f"{value:.0f}M" if value == int(value) else f"{value:.2f}M"
    return f"{count / _THOUSAND:.0f}K" if count >= _THOUSAND else str(count)
