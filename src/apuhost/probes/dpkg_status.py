"""dpkg's database with what apt solves by: enough to ask apt elsewhere what it would do here.

Only fields that decide whether packages go together are kept, a third of the file: 260 bytes a
package.
"""

import re
from dataclasses import dataclass

from apuhost.probes import ParseError

_MOST_BYTES = 16 * 1024 * 1024
_FIELDS = (
    "Package", "Status", "Version", "Architecture", "Multi-Arch", "Essential", "Protected",
    "Important", "Depends", "Pre-Depends", "Conflicts", "Breaks", "Replaces", "Provides",
)  # fmt: skip

# A line that begins with a blank goes on with its field's value (deb822(5)). The last line stands
# inside what is cut, so that a cut takes it away.
COMMAND = f"""
{{
  printf 'native %s\\n' "$(dpkg --print-architecture)"
  dpkg --print-foreign-architectures | sed 's/^/foreign /'
  awk '/^$/ {{ print; kept = 0; next }}
    /^[^ \\t]/ {{ kept = $0 ~ /^({"|".join(_FIELDS)}):/ }}
    kept' /var/lib/dpkg/status && echo end
}} | head -c {_MOST_BYTES}
"""

_HEAD = re.compile(r"native ([a-z0-9-]+)\n((?:foreign [a-z0-9-]+\n)*)")
_LINE = re.compile(rf"(?:{'|'.join(_FIELDS)}):.*|[ \t].*|")


@dataclass(frozen=True)
class DpkgStatus:
    """The architecture of the host, others that it takes packages of, and dpkg's status file."""

    native: str
    foreign: tuple[str, ...]
    text: str


def parse(text: str) -> DpkgStatus:
    """Read what COMMAND prints.

    Raises:
        ParseError: dpkg is missing, its database cannot be read, or the answer was cut.
    """
    head = _HEAD.match(text)
    body = text[head.end() :] if head else ""
    if head is None or not body.rstrip("\n").endswith("\nend"):
        raise ParseError("dpkg's database was not printed to its end")
    kept = body.rstrip("\n").removesuffix("end")
    if other := next((line for line in kept.split("\n") if not _LINE.fullmatch(line)), ""):
        raise ParseError(f"{other[:40]!r} is no line of dpkg's database")
    return DpkgStatus(head[1], tuple(head[2].split()[1::2]), kept)
