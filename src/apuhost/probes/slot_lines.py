"""Lines of a runner's slots in Ollama's log: whole again, with the slot and the task they are of.

`slot FUNCTION: id SLOT | task TASK | MESSAGE` is llama.cpp's form since 2024; before that the
slot and the task were attributes behind the message. Its functions' names are cut, and change.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from apuhost.probes.log_lines import LogLine
from apuhost.probes.slog import attributes

Key = tuple[str | None, str, str]
"""The log's source, the slot and the task."""


@dataclass(frozen=True)
class Message:
    """What a line says of a task."""

    key: Key
    text: str


NUMBER = "[0-9]{1,10}"
"""The digits of a slot, a task or a count of tokens."""

_SLOT = re.compile(
    rf"(?:^|(.{{0,80}}?)\s)slot\s+[^\s:]{{1,40}}:\s*id\s*({NUMBER})\s*\|\s*task\s*({NUMBER})\s*\|\s*(.*)"
)
_BY_ATTRIBUTES = re.compile(r"\] (?:kv cache rm |prompt eval time |slot is processing task)")
_INSTANCE = re.compile(r"\[([0-9]{1,10})\]")  # a router's, before the lines of each server

_FEWEST = 60  # columns; nothing breaks a shorter line
_MOST_PIECES = 8
_BEGINNING = re.compile(
    r"$|\t|\[|.{0,60}(?:\b(?:slot|srv)\s|time=|eval time =|total time|graphs reused|draft acc)"
    r"|[\w ]{1,60}: |[0-9]{4}-"
)


def whole(lines: Iterable[LogLine]) -> Iterator[LogLine]:
    """Put together again the lines of slots that a terminal or a mail program has broken."""
    held, width, pieces = LogLine(None, ""), 0, 0
    for line in lines:
        if width >= _FEWEST and pieces < _MOST_PIECES and _goes_on(held, line):
            held = LogLine(held.process, held.text + _joint(held.text, line.text) + line.text)
            width, pieces = len(line.text), pieces + 1
            continue
        yield held
        held, pieces = line, 0
        width = len(line.text) if _SLOT.match(line.text) else 0
    yield held


def _goes_on(held: LogLine, line: LogLine) -> bool:
    return line.process in (None, held.process) and not _BEGINNING.match(line.text)


def _joint(before: str, piece: str) -> str:
    """No blank, so that a number is whole again; but none is made out of two."""
    two = before[-1:].isdigit() and piece[:1].isdigit() and not piece.strip().isdigit()
    return " " if two else ""


def message(line: LogLine) -> Message | None:
    """Return what a line says of a task; None where it is of no slot."""
    return _of_slot(line) or _by_attributes(line)


def _of_slot(line: LogLine) -> Message | None:
    found = _SLOT.match(line.text)
    if found is None:
        return None
    before, slot, task, text = found.groups()
    instance = _INSTANCE.match(before or "")
    return Message((instance[1] if instance else line.process, slot, task), text)


def _by_attributes(line: LogLine) -> Message | None:
    found = _BY_ATTRIBUTES.search(line.text)
    if found is None:
        return None
    told = attributes(line.text)
    slot = told.get("id_slot") or told.get("slot_id") or ""
    task = told.get("id_task") or told.get("task_id") or ""
    if not re.fullmatch(NUMBER, task):
        return None
    text = line.text[found.start() + 2 :].replace("[p0,", f"[{told.get('p0')},")
    return Message((line.process, slot, task), text)
