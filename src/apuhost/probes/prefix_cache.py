"""How much of each prompt a runner took from its cache, as its lines in Ollama's log tell it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.log_lines import log_lines
from apuhost.probes.ollama_lines import is_ours
from apuhost.probes.prompt_tasks import Task
from apuhost.probes.slot_lines import whole
from apuhost.probes.slot_tasks import TELLING, Slots, ended, read_line

__all__ = ["PrefixCache", "Task", "parse", "read"]


@dataclass(frozen=True)
class PrefixCache:
    """The prompts in the order in which they began, and the sums of what is told of them."""

    tasks: Collection[Task]
    prompt_tokens: int
    processed_tokens: int


def parse(text: str) -> PrefixCache:
    """Read a log, whole, cut, with several runners', or behind prefixes.

    Raises:
        ParseError: no line is Ollama's or llama.cpp's.
    """
    return read(text.split("\n"))


def read(lines: Iterable[str]) -> PrefixCache:
    """Read the lines of a log; only what is found in it is kept.

    Raises:
        ParseError: as `parse`.
    """
    slots, ours, anything = Slots(), False, False
    for line in whole(log_lines(lines)):
        anything = anything or line.text.strip() != ""
        ours = ours or is_ours(line)
        if TELLING.search(line.text):
            read_line(slots, line)
    tasks = ended(slots)
    if anything and not ours and not tasks.begun:
        raise ParseError("no line of a runner's in it")
    return PrefixCache(
        tasks,
        prompt_tokens=sum(task.prompt_tokens or 0 for task in tasks),
        processed_tokens=sum(task.processed_tokens or 0 for task in tasks),
    )
