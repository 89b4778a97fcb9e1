"""/etc/os-release: which distribution this is (os-release(5))."""

import shlex
from dataclasses import dataclass

from apuhost.probes.pairs import pairs

COMMAND = "cat /etc/os-release 2>/dev/null || cat /usr/lib/os-release 2>/dev/null || true"


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


def parse(text: str) -> OsRelease:
    """Read os-release; unknown and broken lines are passed over."""
    values = {key: _unquoted(value) for key, value in pairs(text)}
    return OsRelease(
        id=values.get("ID", "").lower() or None,
        id_like=tuple(values.get("ID_LIKE", "").lower().split()),
        name=values.get("NAME"),
        version=values.get("VERSION_ID"),
        codename=values.get("VERSION_CODENAME"),
    )


def _unquoted(value: str) -> str:
    try:
        return " ".join(shlex.split(value))
    except ValueError:
        return value
