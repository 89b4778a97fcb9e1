"""What may stand for a host: an address or a name, and no user, port or path with it."""

import json
import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import quote

LONGEST = 250
"""DNS takes 253; the folder of a host's facts is its name, for a moment with `.` and `.new`."""

RULE = (
    "letters, digits, - and _ with dots between, no - before it, up to 63 between two dots and"
    f" {LONGEST} in all; or an address"
)

_LABEL = r"[\w-]{1,63}"
_NAME = re.compile(rf"(?!-){_LABEL}(?:\.{_LABEL})*\.?")
_ADDRESS = re.compile(r"[0-9A-Fa-f:.]+(?:%[\w.-]+)?")
_PARTS = re.compile(
    r"(?P<scheme>[a-z]+://)?(?:(?P<user>[^\s:@/-][^\s:@/]*)(?::[^\s@/]*)?@)?"
    r"(?P<host>\[[^\s\[\]]+\]|[\w.-]+)(?::(?P<port>[0-9]{1,5}))?(?P<path>/\S*)?"
)


@dataclass(frozen=True)
class Parts:
    """A host, with the user and the port that were written around it."""

    host: str
    user: str | None
    port: int | None

    @property
    def keys(self) -> str:
        """The keys that take user and port, as an inventory has them."""
        named = (("ssh_user", self.user), ("ssh_port", self.port))
        return ", ".join(f'"{key}": {json.dumps(value)}' for key, value in named if value)


def is_one(text: str) -> bool:
    """Whether ssh could look for such a host."""
    return _is_address(text) or (bool(_NAME.fullmatch(text)) and len(quote(text)) <= LONGEST)


def parts(text: str) -> Parts | None:
    """Host, user and port of a text that has more than a host; None for any other."""
    found = _PARTS.fullmatch(text.strip())
    if is_one(text) or not found or (found["path"] and not found["scheme"]):
        return None
    host, port = found["host"].strip("[]"), found["port"]
    return Parts(host, found["user"], int(port) if port else None) if is_one(host) else None


def why_no_address(text: str) -> str:
    """Why this is no ssh_hostname; "" where it is one."""
    if is_one(text):
        return ""
    found = parts(text)
    if not found:
        return RULE
    return ", ".join(filter(None, (f'write "ssh_hostname": "{found.host}"', found.keys)))


def why_no_name(text: str) -> str:
    """Why no host of an inventory can be called that; "" where one can."""
    if is_one(text):
        return ""
    found = parts(text)
    if not found:
        return RULE
    return f'write ("{found.host}", {{{found.keys}}})' if found.keys else f'write "{found.host}"'


def _is_address(text: str) -> bool:
    try:
        return bool(_ADDRESS.fullmatch(text) and ip_address(text))
    except ValueError:
        return False
