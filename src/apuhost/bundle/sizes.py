"""Sizes as people read them."""

import re

from apuhost.bundle.item import BundleError

_UNITS = ("kB", "MB", "GB", "TB")
_THOUSAND = 1000
_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?(MB|GB|MiB|GiB)")
_BYTES = {"MB": 1000**2, "GB": 1000**3, "MiB": 1024**2, "GiB": 1024**3}

DVD = 4_600_000_000
"""A DVD+R has 4,700,372,992 bytes (ECMA-349); the rest is for the disc's own file system."""


def shown(count: int) -> str:
    """Decimal, as sticks and discs are sold: `31.4 GB`, `512 B`."""
    size, unit = float(count), "B"
    for larger in _UNITS:
        if round(size, 1) < _THOUSAND:
            break
        size, unit = size / _THOUSAND, larger
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def parse(text: str) -> int:
    """Bytes of a medium, as people write them: `4GiB`, `700 MB`, `dvd`.

    Raises:
        BundleError: no such size.
    """
    if text == "dvd":
        return DVD
    if found := _SIZE.fullmatch(text):
        return int(float(found[1]) * _BYTES[found[2]])
    raise BundleError(f"{text} is no size: dvd, or a number with MB, GB, MiB or GiB, as 4GiB")
