"""Prompts that runners have read, as many as a log of any length tells of."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from operator import eq
from struct import Struct

_ROW = Struct("<??4q")  # told, forced_full, the numbers in Task's order; -1 for None
_NOTHING = _ROW.pack(False, False, -1, -1, -1, -1)


@dataclass(frozen=True, slots=True)
class Task:
    """One prompt; counts are tokens, None where the log does not tell them.

    `processed_tokens` were computed, `cached_tokens` were not; together they are the prompt.
    `forced_full`: the cache held a part of it, but no state that it could go on from.
    """

    task: int | None
    prompt_tokens: int | None
    cached_tokens: int | None
    processed_tokens: int | None
    forced_full: bool


class Tasks(Collection[Task]):
    """Tasks in the order in which they began; each is a row of bytes until it is asked for.

    A log of a gigabyte has half a million: as objects they take six times as much memory.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._rows = bytearray()
        self._told = 0

    @property
    def begun(self) -> bool:
        """Whether any task has begun, told of or not."""
        return bool(self._rows)

    def begin(self) -> int:
        """Return the place of the next task."""
        self._rows += _NOTHING
        return len(self._rows) // _ROW.size - 1

    def tell(self, place: int, task: Task) -> None:
        """Put a task in its place; once for each."""
        numbers = (task.task, task.prompt_tokens, task.cached_tokens, task.processed_tokens)
        known = (-1 if number is None else number for number in numbers)
        _ROW.pack_into(self._rows, place * _ROW.size, True, task.forced_full, *known)
        self._told += 1

    def __iter__(self) -> Iterator[Task]:
        """Those that something was told of."""
        for told, forced_full, *numbers in _ROW.iter_unpack(self._rows):
            if told:
                task, prompt, cached, processed = (n if n >= 0 else None for n in numbers)
                yield Task(task, prompt, cached, processed, forced_full)

    def __len__(self) -> int:
        """The number of those that something was told of."""
        return self._told

    def __contains__(self, task: object) -> bool:
        """Whether one is equal."""
        return any(each == task for each in self)

    def __eq__(self, other: object) -> bool:
        """Whether the other collection has equal tasks in the same order."""
        if not isinstance(other, Collection):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # it grows
