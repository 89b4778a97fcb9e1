"""Why a bundle must not be used: not from whom it should be, or not as it was made."""

from collections.abc import Sequence
from dataclasses import dataclass

from apuhost.bundle.item import BundleError

MOST_NAMED = 5


class RefusedError(BundleError):
    """A bundle that must not be used."""

    exit_status = 1


@dataclass(frozen=True)
class Fault:
    """What is wrong with one thing of a bundle, by its path or name."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


class DamagedError(RefusedError):
    """What is not as it was made: `faults` has all of it, the line the first few."""

    def __init__(self, where: str, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        named = [str(fault) for fault in self.faults[:MOST_NAMED]]
        more = len(self.faults) - MOST_NAMED
        said = "; ".join([*named, f"and {more} more"] if more > 0 else named)
        super().__init__(f"{where}: damaged: {said}")
