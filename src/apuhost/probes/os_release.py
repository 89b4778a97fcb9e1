"""/etc/os-release: which distribution this is (os-release(5))."""

import shlex
from dataclasses import dataclass

from apuhost.probes.pairs import pairs

COMMAND = "cat /etc/os-release 2>/dev/null || cat /usr/lib/os-release 2>/dev/null || true"

_KEYS = frozenset({"ID", "ID_LIKE", "NAME", "VERSION_ID", "VERSION_CODENAME"})
_LONGEST = 4096  # characters of a value; shlex takes the square of their number


@dataclass(frozen=True)
class OsRelease:
    """Lower-case ids; None where the file does not say."""

    id: str | None
    id_like: tuple[str, ...]
    name: str | None
    version: str | None
    codename: str | None

    @property
    def debian_family(self) -> bool:
        """Debian, Ubuntu or something that says it is like one of them."""
        return not {"debian", "ubuntu"}.isdisjoint({self.id, *self.id_like})

    @property
    def family(self) -> str:
        """Whose packages it has: "ubuntu", or "debian" for everything else."""
        return "ubuntu" if "ubuntu" in (self.id, *self.id_like) else "debian"


def parse(text: str) -> OsRelease:
    """Read os-release; unknown and broken lines are passed over."""
    values = {key: _unquoted(value) for key, value in pairs(text) if key in _KEYS}
    return OsRelease(
        id=values.get("ID", "").lower() or None,
        id_like=tuple(values.get("ID_LIKE", "").lower().split()),
        name=values.get("NAME"),
        version=values.get("VERSION_ID"),
        codename=values.get("VERSION_CODENAME"),
    )


def _unquoted(value: str) -> str:
    if len(value) > _LONGEST:
        return value
    try:
        return " ".join(shlex.split(value))
    except ValueError:
        return value
