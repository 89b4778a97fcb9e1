"""Records: which record each probe's reading is. Whence readings come, the host facts know."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

Record = TypeVar("Record")


class Records(ABC):
    """Records of one host, each parsed when it is first asked for."""

    @abstractmethod
    def _read(self, name: str, parse: Callable[[str], Record]) -> Record:
        """The record of a reading, by its probe's name."""
