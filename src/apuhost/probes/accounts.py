"""Groups that open the GPU's device nodes and Docker's socket, and the users there are."""

from collections.abc import Mapping
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.pairs import whole_number

_MOST_BYTES = 1024 * 1024

# getent also asks LDAP and its like, as the kernel's users do; each group is asked by its name.
COMMAND = f"""
{{
  getent group render video docker | sed 's/^/group /'
  getent passwd | cut -d: -f1 | sed 's/^/user /'
  echo end
}} | head -c {_MOST_BYTES}
"""

_FIELDS = 4  # name:password:gid:members, group(5)


@dataclass(frozen=True)
class Group:
    """A group, and the users that it lists; not those whose primary group it is."""

    name: str
    gid: int
    members: frozenset[str]


@dataclass(frozen=True)
class Accounts:
    """The groups render, video and docker as far as they exist, and every user's name."""

    groups: Mapping[str, Group]
    users: frozenset[str]


def parse(text: str) -> Accounts:
    """Read the lines that COMMAND prints; a line of another form is passed over.

    Raises:
        ParseError: the answer was cut, or names no user (there always is root).
    """
    lines = text.rstrip("\n").split("\n")
    users = frozenset(line[5:] for line in lines if line.startswith("user ") and line[5:])
    if lines[-1] != "end" or not users:
        raise ParseError("getent did not list the users to the end")
    found = [_group(line[6:]) for line in lines if line.startswith("group ")]
    return Accounts({group.name: group for group in found if group is not None}, users)


def _group(line: str) -> Group | None:
    fields = line.split(":")
    gid = whole_number(fields[2]) if len(fields) == _FIELDS else None
    if gid is None or not fields[0]:
        return None
    return Group(fields[0], gid, frozenset(name for name in fields[3].split(",") if name))
