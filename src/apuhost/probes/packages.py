"""dpkg's database: which packages are installed, in which version, and which are broken.

`Status-Abbrev` (dpkg-query(1)): the wanted state, the state, and an error mark.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from apuhost.probes import ParseError

_MOST_BYTES = 8 * 1024 * 1024  # ten times a desktop's database

# The last line stands inside what is cut, so that a cut takes it away.
COMMAND = f"""
{{
  printf 'native %s\\n' "$(dpkg --print-architecture)"
  dpkg-query -W -f '${{db:Status-Abbrev}}|${{Package}}|${{Version}}|${{Architecture}}\\n' &&
    echo end
}} | head -c {_MOST_BYTES}
"""

_LINE = re.compile(r"([a-zA-Z])([a-zA-Z])([ a-zA-Z])\|([^|\s]+)\|([^|\s]*)\|([^|\s]+)")
_BROKEN = frozenset("HUFWt")  # half-installed, unpacked, half-configured, triggers awaited, pending


@dataclass(frozen=True)
class Packages:
    """Versions of the fully installed packages, and the names of those that dpkg left half-way.

    A package of a foreign architecture is named as dpkg does: `libc6:i386`.
    """

    installed: Mapping[str, str]
    broken: tuple[str, ...]


def parse(text: str) -> Packages:
    """Read the lines that COMMAND prints; a line of another form is passed over.

    Raises:
        ParseError: dpkg-query is missing, failed, or its answer was cut.
    """
    lines = text.rstrip("\n").split("\n")
    if lines[-1] != "end":
        raise ParseError("dpkg-query did not list the packages to the end")
    native = lines[0].removeprefix("native ")
    found = [match for line in lines[1:] if (match := _LINE.fullmatch(line))]
    return Packages(
        installed={_name(match, native): match[5] for match in found if _whole(match)},
        broken=tuple(_name(match, native) for match in found if _halfway(match)),
    )


def _whole(match: re.Match[str]) -> bool:
    return match[2] == "i" and not _halfway(match)


def _halfway(match: re.Match[str]) -> bool:
    return match[2] in _BROKEN or match[3].strip() != ""


def _name(match: re.Match[str], native: str) -> str:
    return match[4] if match[6] in (native, "all") else f"{match[4]}:{match[6]}"
