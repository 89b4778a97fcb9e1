"""Lines of `key value` or `key=value`, the form that the small probes print."""

import re
from collections.abc import Iterator

# 64 bits take 20 digits. [0-9], not isdigit(): int() and isdigit() know digits of other scripts.
_WHOLE_NUMBER = re.compile(r"[0-9]{1,20}")


def pairs(text: str, separator: str = "=") -> Iterator[tuple[str, str]]:
    """Each line's key and value, blanks stripped; lines without the separator are passed over."""
    for line in text.splitlines():
        key, found, value = line.partition(separator)
        if found and key.strip():
            yield key.strip(), value.strip()


def whole_number(text: str | None) -> int | None:
    """A decimal number as sysfs and procfs print it, or None."""
    stripped = (text or "").strip()
    return int(stripped) if _WHOLE_NUMBER.fullmatch(stripped) else None
