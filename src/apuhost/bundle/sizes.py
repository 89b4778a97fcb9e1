"""Sizes as people read them."""

_UNITS = ("kB", "MB", "GB", "TB")
_THOUSAND = 1000


def shown(count: int) -> str:
    """Decimal, as sticks and discs are sold: `31.4 GB`, `512 B`."""
    size, unit = float(count), "B"
    for larger in _UNITS:
        if round(size, 1) < _THOUSAND:
            break
        size, unit = size / _THOUSAND, larger
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
