"""Many names as a few: `box[01:17]` is box01 to box17, as Ansible's inventories write it."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from string import ascii_letters

from apuhost.errors import ApuhostError

FEWEST = 3
"""Fewer names in a row are as short, and clearer, written out."""

MOST = 10000
"""As many names as one range may mean: more of them are a slip of the keyboard."""

_FIRST = re.compile(r"([^\d]*)(\d+)(.*)")
_LAST = re.compile(r"(.*?)(\d+)([^\d]*)")
_RANGE = re.compile(
    r"\[(?:(?P<first>\d*):(?P<last>\d+)|(?P<from>[A-Za-z]):(?P<to>[A-Za-z]))(?::(?P<step>\d+))?\]"
)

Parts = tuple[str, int, int, str]
"""What stands before a number, how many digits it has, the number, what stands behind it."""


class RangeError(ApuhostError):
    """A range that means no names."""


def folded(names: Iterable[str]) -> list[str]:
    """The names, each row of at least three that count up as one range; in their first order."""
    once = list(dict.fromkeys(names))
    return min((_folded(once, number) for number in (_FIRST, _LAST)), key=len)


def expanded(text: str) -> list[str]:
    """The names that a text with ranges means; the text itself where it has none.

    Raises:
        RangeError: one that counts down, has two lengths, or no end to it.
    """
    found = _RANGE.search(text)
    if found is None:
        return [text]
    before, behind = text[: found.start()], expanded(text[found.end() :])
    members = _members(found)
    if len(members) * len(behind) > MOST:
        raise RangeError(f"{text} means more than {MOST} names")
    return [f"{before}{each}{rest}" for each in members for rest in behind]


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern of names means this one: with ranges, and as a shell's.

    Raises:
        RangeError: a range in it means no names.
    """
    return any(fnmatch(name, each) for each in expanded(pattern))


def _folded(names: Sequence[str], number: re.Pattern[str]) -> list[str]:
    rows: dict[tuple[str, int, str], list[int]] = {}
    for name in names:
        if parts := _parts(name, number):
            before, digits, count, behind = parts
            rows.setdefault((before, digits, behind), []).append(count)
    said: dict[str, None] = {}
    runs = {key: _runs(counts) for key, counts in rows.items()}
    for name in names:
        said[_told(name, _parts(name, number), runs)] = None
    return list(said)


def _parts(name: str, number: re.Pattern[str]) -> Parts | None:
    found = number.fullmatch(name)
    if not found or not name.isascii():
        return None
    before, digits, behind = found.groups()
    return before, len(digits), int(digits), behind


def _runs(counts: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of each row of numbers without a gap."""
    runs: list[tuple[int, int]] = []
    for count in sorted(set(counts)):
        if runs and runs[-1][1] == count - 1:
            runs[-1] = runs[-1][0], count
        else:
            runs.append((count, count))
    return runs


def _told(
    name: str,
    parts: Parts | None,
    runs: dict[tuple[str, int, str], list[tuple[int, int]]],
) -> str:
    """The range that a name is in, or the name."""
    if parts is None:
        return name
    before, digits, count, behind = parts
    for first, last in runs[before, digits, behind]:
        if first <= count <= last and last - first + 1 >= FEWEST:
            return f"{before}[{first:0{digits}}:{last:0{digits}}]{behind}"
    return name


def _members(found: re.Match[str]) -> list[str]:
    step = int(found["step"] or 1)
    if step == 0:
        raise RangeError(f"{found.string}: {found[0]} has no end")
    if found["from"]:
        return list(_letters(found)[::step])
    first, last = found["first"] or "0", found["last"]
    if len(first) > 1 and first.startswith("0") and len(first) != len(last):
        raise RangeError(f"{found.string}: both ends of {found[0]} need as many digits")
    numbers = range(int(first), min(int(last), int(first) + MOST * step) + 1, step)
    if not numbers:
        raise RangeError(f"{found.string}: {found[0]} counts down")
    width = len(first) if first.startswith("0") else 0
    return [f"{number:0{width}}" for number in numbers]


def _letters(found: re.Match[str]) -> str:
    first, last = ascii_letters.index(found["from"]), ascii_letters.index(found["to"])
    if first > last:
        raise RangeError(f"{found.string}: {found[0]} counts down")
    return ascii_letters[first : last + 1]
