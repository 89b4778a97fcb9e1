"""Lines of `key value` or `key=value`, the form that the small probes print."""

from collections.abc import Iterator


def pairs(text: str, separator: str = "=") -> Iterator[tuple[str, str]]:
    """Each line's key and value, blanks stripped; lines without the separator are passed over."""
    for line in text.splitlines():
        key, found, value = line.partition(separator)
        if found and key.strip():
            yield key.strip(), value.strip()


def whole_number(text: str | None) -> int | None:
    """A decimal number as sysfs and procfs print it, or None."""
    stripped = (text or "").strip()
    # isascii: int() also takes digits of other scripts, which no kernel prints.
    return int(stripped) if stripped.isascii() and stripped.isdigit() else None
