"""What the lines of a runner's slots tell of each prompt: its tokens, those from the cache."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from apuhost.probes.log_lines import LogLine, phrase
from apuhost.probes.prompt_tasks import Task, Tasks
from apuhost.probes.slog import attributes
from apuhost.probes.slot_lines import NUMBER, Key, Message, message


@dataclass(slots=True)
class _Seen:
    """What was read of a task so far, and its place among the tasks.

    A log that was cut may hold its later batches only: `begun` is False until a line shows that
    no batch was processed before. `reused` is what the search for a prefix came to.
    """

    place: int
    task: int | None
    begun: bool = False
    told: bool = False
    prompt: int | None = None
    cached: int | None = None
    reused: int | None = None
    processed: int | None = None
    forced_full: bool = False


@dataclass
class Slots:
    """The tasks so far, those whose timings are still to come, and the one being timed."""

    tasks: Tasks = field(default_factory=Tasks)
    open: dict[Key, list[_Seen]] = field(default_factory=dict)
    timed: Key | None = None


def _phrase(text: str) -> re.Pattern[str]:
    """N stands for a number, * for a few words."""
    return phrase(text.replace("*", ".{0,160}?").replace("N", f"({NUMBER})(?![0-9])"))


_CACHE_SLOT = "loading cache slot"
_TIMING = _phrase("prompt eval time = [0-9.]{1,20} ms / N tokens")
_OTHER_TIMING = re.compile(r"\w+_print\w*: ")
TELLING = re.compile(r"\bslot\s|loading\s*cache\s*slot|(?:id_task|task_id)=|prompt\s*eval")
"""A word of every line that tells something: what tells nothing is most of a log."""

_MOST_UNFINISHED = 8  # tasks with one number: of as many runners, or given up
_MOST_OPEN = 1024  # far more than runners have slots: older ones were given up


def read_line(slots: Slots, line: LogLine) -> None:
    """Put what a line tells to what is known of its task."""
    if _CACHE_SLOT in line.text:
        _read_cache_slot(slots, line.text)
    elif found := message(line):
        _read_message(slots, found)
    elif slots.timed and (timing := _TIMING.search(line.text)):
        if not _OTHER_TIMING.search(line.text):
            _read_processed(slots, slots.timed, timing)
        slots.timed = None


def ended(slots: Slots) -> Tasks:
    """Return the tasks of a log that has ended, also those whose end it does not tell."""
    for unfinished in slots.open.values():
        _close(slots, unfinished)
    slots.open.clear()
    return slots.tasks


def _read_message(slots: Slots, told: Message) -> None:
    if not told.text.strip():
        slots.timed = told.key  # its timings follow on lines of their own
        return
    for pattern, reader in _READERS:
        if found := pattern.match(told.text):
            reader(slots, told.key, found)
            return


def _seen(slots: Slots, key: Key) -> _Seen:
    """What is known of the last task with this key, or a new one."""
    unfinished = slots.open.get(key)
    return unfinished[-1] if unfinished else _opened(slots, key)


def _opened(slots: Slots, key: Key) -> _Seen:
    unfinished = slots.open.setdefault(key, [])
    unfinished.append(_Seen(slots.tasks.begin(), int(key[2])))
    _close(slots, unfinished[:-_MOST_UNFINISHED])
    del unfinished[:-_MOST_UNFINISHED]
    if len(slots.open) > _MOST_OPEN:
        _close(slots, slots.open.pop(next(iter(slots.open))))
    return unfinished[-1]


def _close(slots: Slots, finished: list[_Seen]) -> None:
    """Nothing more is told of these; of a task that nothing was told of there is none."""
    for seen in finished:
        if seen.told:
            slots.tasks.tell(seen.place, _task(seen))


def _read_launch(slots: Slots, key: Key, _: re.Match[str]) -> None:
    _opened(slots, key).begun = True


def _read_new_prompt(slots: Slots, key: Key, found: re.Match[str]) -> None:
    seen = _seen(slots, key)
    if seen.told:  # another runner's task of the same number
        seen = _opened(slots, key)
    seen.begun = seen.told = True
    seen.prompt = int(found[1])


def _read_prompt(slots: Slots, key: Key, found: re.Match[str]) -> None:
    seen = _seen(slots, key)
    seen.told = True
    if seen.prompt is None:
        seen.prompt = int(found[1])


def _read_batch(slots: Slots, key: Key, found: re.Match[str]) -> None:
    """Printed before each batch: only before the first is it what the cache held."""
    seen = _seen(slots, key)
    seen.told = True
    tokens = int(found[1])
    if seen.cached is None and (seen.begun or tokens == 0):
        seen.cached = tokens
    seen.begun = False


def _read_restored(slots: Slots, key: Key, found: re.Match[str]) -> None:
    _reused(_seen(slots, key), int(found[1]))


def _read_forced(slots: Slots, key: Key, _: re.Match[str]) -> None:
    seen = _seen(slots, key)
    seen.forced_full = True
    _reused(seen, 0)


def _read_all_cached(slots: Slots, key: Key, found: re.Match[str]) -> None:
    """The last token is processed again, since its result is needed."""
    seen = _seen(slots, key)
    _reused(seen, max(int(found[1]) - 1, 0))
    seen.prompt = int(found[2])


def _reused(seen: _Seen, tokens: int) -> None:
    seen.begun = seen.told = True
    seen.reused = tokens


def _read_processed(slots: Slots, key: Key, found: re.Match[str]) -> None:
    """The end of a task: of several with one number it is the one whose tokens add up."""
    processed = int(found[1])
    unfinished = slots.open.get(key) or [_opened(slots, key)]
    fitting = [seen for seen in unfinished if seen.prompt == (seen.cached or 0) + processed]
    seen = (fitting or unfinished)[-1]
    seen.processed, seen.told = processed, True
    _close(slots, [seen])
    unfinished.remove(seen)
    if not unfinished:
        del slots.open[key]


def _read_cache_slot(slots: Slots, text: str) -> None:
    """One debug line of Ollama 0.4 to 0.24 tells all of a prompt, but names no task."""
    told = attributes(text)
    prompt, cached, processed = (_number(told.get(key)) for key in ("prompt", "used", "remaining"))
    place = slots.tasks.begin()
    seen = _Seen(place, None, told=True, prompt=prompt, cached=cached, processed=processed)
    _close(slots, [seen])


def _number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(NUMBER, text) else None


def _task(seen: _Seen) -> Task:
    """What is told in another way is filled in: a prompt is what was cached and processed."""
    prompt, cached, processed = seen.prompt, seen.cached, seen.processed
    if cached is None:
        cached = seen.reused
    if cached is None and prompt is not None and processed is not None and prompt >= processed:
        cached = prompt - processed
    if prompt is None and cached is not None and processed is not None:
        prompt = cached + processed
    return Task(seen.task, prompt, cached, processed, seen.forced_full)


_READERS: tuple[tuple[re.Pattern[str], Callable[[Slots, Key, re.Match[str]], None]], ...] = (
    (_phrase("(?:slot is )?processing task"), _read_launch),
    (_phrase(r"new prompt,*(?:task\.n_tokens|n_prompt_tokens) = N"), _read_new_prompt),
    (_phrase(r"(?:cached )?n_tokens = N, memory_seq_rm \["), _read_batch),
    (_phrase(r"kv cache rm \[N, end\)"), _read_batch),
    (_phrase(r"restored context checkpoint \(*n_past = N"), _read_restored),
    (_phrase("forcing full prompt re-processing"), _read_forced),
    (
        _phrase(
            r"need to evaluate at least 1 token*n_past = N,* (?:task\.n_tokens\(\)|n_prompt_tokens)"
            " = N"
        ),
        _read_all_cached,
    ),
    (_phrase("init sampler,*total = N"), _read_prompt),
    (_phrase("prompt (?:processing )?done, n_(?:past|tokens) = N"), _read_prompt),
    (_TIMING, _read_processed),
)
