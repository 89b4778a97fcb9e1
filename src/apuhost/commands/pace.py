"""How a deploy goes through many hosts: so many at a time, and until so many have failed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from apuhost.errors import ApuhostError

_T = TypeVar("_T")

_SERIAL = re.compile(r"(?P<number>[0-9]{1,9})(?P<percent>%?)")
WHOLE = 100


class PaceError(ApuhostError):
    """A number of hosts that means none, or a limit that could not count."""


@dataclass(frozen=True)
class Pace:
    """As many hosts at a time as `serial` says, a number or a percentage; none: all at once.

    After `failures` failed hosts no further batch begins; None: each one does.
    """

    serial: str | None = None
    failures: int | None = None

    def __post_init__(self) -> None:
        found = _SERIAL.fullmatch(self.serial or "1")
        if not found or not int(found["number"]) or (found["percent"] and _over(found["number"])):
            raise PaceError(f"--serial {self.serial}: a number of hosts, 1 or more, or 1% to 100%")
        if self.failures is not None and self.failures < 1:
            raise PaceError(f"--max-failures {self.failures}: a number of hosts, 1 or more")
        if self.failures is not None and self.serial is None:
            raise PaceError("--max-failures counts between batches: add --serial N")

    def batches(self, hosts: Sequence[_T]) -> list[Sequence[_T]]:
        """The hosts in their order, so many in each batch; one at least."""
        size = self._size(len(hosts))
        return [hosts[start : start + size] for start in range(0, len(hosts), size)]

    def reached(self, failed: int) -> bool:
        """Whether so many failed hosts are too many to go on."""
        return self.failures is not None and failed >= self.failures

    def _size(self, count: int) -> int:
        if self.serial is None:
            return max(1, count)
        number = int(self.serial.removesuffix("%"))
        return max(1, count * number // WHOLE) if self.serial.endswith("%") else number


def _over(percent: str) -> bool:
    return int(percent) > WHOLE
