"""How much of each prompt a runner took from its cache, as its lines in Ollama's log tell it.

`slot FUNCTION: id SLOT | task TASK | MESSAGE` is llama.cpp's form since 2024; before that the
slot and the task were attributes behind the message. Its functions' names are cut, and change.
Runners of Ollama 0.4 to 0.24 tell it in one debug line that names no task.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from apuhost.probes import ParseError
from apuhost.probes.log_lines import LogLine, log_lines
from apuhost.probes.ollama_lines import is_ours
from apuhost.probes.pairs import whole_number
from apuhost.probes.slog import attributes


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


@dataclass(frozen=True)
class PrefixCache:
    """The prompts in the order in which they began, and the sums of what is told of them."""

    tasks: tuple[Task, ...]
    prompt_tokens: int
    processed_tokens: int


@dataclass(slots=True)
class _Seen:
    """What was read of a task so far.

    A log that was cut may hold its later batches only: `begun` is False until a line shows that
    no batch was processed before. `reused` is what the search for a prefix came to.
    """

    task: int | None
    begun: bool = False
    told: bool = False
    prompt: int | None = None
    cached: int | None = None
    reused: int | None = None
    processed: int | None = None
    forced_full: bool = False


_Key = tuple[str | None, str, str]


@dataclass
class _State:
    """The tasks so far, those whose timings are still to come, and the one being timed."""

    tasks: list[_Seen] = field(default_factory=list)
    open: dict[_Key, list[_Seen]] = field(default_factory=dict)
    timed: _Key | None = None


@dataclass(frozen=True)
class _Message:
    """A line of a task's; the key is the log's source, the slot and the task."""

    key: _Key
    text: str


_NUMBER = "([0-9]{1,10})(?![0-9])"


def _phrase(text: str) -> re.Pattern[str]:
    """A line that was broken has lost or got blanks; N stands for a number, * for a few words."""
    words = text.replace("*", ".{0,160}?").replace("N", _NUMBER)
    return re.compile(words.replace(" ", r"\s*"))


_SLOT = re.compile(
    r"(?:^|(.{0,80}?)\s)slot\s+[^\s:]{1,40}:\s*id\s*([0-9]{1,10})\s*\|\s*task\s*([0-9]{1,10})\s*\|\s*(.*)"
)
_BY_ATTRIBUTES = re.compile(r"\] (?:kv cache rm |prompt eval time |slot is processing task)")
_CACHE_SLOT = "loading cache slot"
_INSTANCE = re.compile(r"\[([0-9]{1,10})\]")  # a router's, before the lines of each server
_TIMING = _phrase("prompt eval time = [0-9.]{1,20} ms / N tokens")
_OTHER_TIMING = re.compile(r"\w+_print\w*: ")
_SOMETHING = re.compile(r"\bslot\s|loading\s*cache\s*slot|(?:id_task|task_id)=|prompt\s*eval")
"""A word of every line that tells something: what tells nothing is most of a log."""

_FEWEST = 60  # columns; nothing breaks a shorter line
_MOST_PIECES = 8
_MOST_UNFINISHED = 8  # tasks with one number: of as many runners, or given up
_BEGINNING = re.compile(
    r"$|\t|\[|.{0,60}(?:\b(?:slot|srv)\s|time=|eval time =|total time|graphs reused|draft acc)"
    r"|[\w ]{1,60}: |[0-9]{4}-"
)


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
    state, ours, anything = _State(), False, False
    for line in _whole(log_lines(lines)):
        anything = anything or line.text.strip() != ""
        ours = ours or is_ours(line)
        if _SOMETHING.search(line.text):
            _read_line(state, line)
    if anything and not ours and not state.tasks:
        raise ParseError("no line of a runner's in it")
    tasks = tuple(_task(seen) for seen in state.tasks if seen.told)
    return PrefixCache(
        tasks,
        prompt_tokens=sum(task.prompt_tokens or 0 for task in tasks),
        processed_tokens=sum(task.processed_tokens or 0 for task in tasks),
    )


def _whole(lines: Iterable[LogLine]) -> Iterator[LogLine]:
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


def _read_line(state: _State, line: LogLine) -> None:
    if _CACHE_SLOT in line.text:
        _read_cache_slot(state, line.text)
    elif message := _of_slot(line) or _by_attributes(line):
        _read_message(state, message)
    elif state.timed and (timing := _TIMING.search(line.text)):
        if not _OTHER_TIMING.search(line.text):
            _read_processed(state, state.timed, timing)
        state.timed = None


def _of_slot(line: LogLine) -> _Message | None:
    found = _SLOT.match(line.text)
    if found is None:
        return None
    before, slot, task, text = found.groups()
    instance = _INSTANCE.match(before or "")
    return _Message((instance[1] if instance else line.process, slot, task), text)


def _by_attributes(line: LogLine) -> _Message | None:
    found = _BY_ATTRIBUTES.search(line.text)
    if found is None:
        return None
    told = attributes(line.text)
    slot = told.get("id_slot") or told.get("slot_id")
    task = told.get("id_task") or told.get("task_id")
    if whole_number(task) is None:
        return None
    text = line.text[found.start() + 2 :].replace("[p0,", f"[{told.get('p0')},")
    return _Message((line.process, slot or "", task or ""), text)


def _read_message(state: _State, message: _Message) -> None:
    if not message.text.strip():
        state.timed = message.key  # its timings follow on lines of their own
        return
    for pattern, reader in _READERS:
        if found := pattern.match(message.text):
            reader(state, message.key, found)
            return


def _seen(state: _State, key: _Key) -> _Seen:
    """What is known of the last task with this key, or a new one."""
    unfinished = state.open.get(key)
    return unfinished[-1] if unfinished else _opened(state, key)


def _opened(state: _State, key: _Key) -> _Seen:
    seen = _Seen(int(key[2]))
    unfinished = state.open.setdefault(key, [])
    del unfinished[: -_MOST_UNFINISHED + 1]
    unfinished.append(seen)
    state.tasks.append(seen)
    return seen


def _read_launch(state: _State, key: _Key, _: re.Match[str]) -> None:
    _opened(state, key).begun = True


def _read_new_prompt(state: _State, key: _Key, found: re.Match[str]) -> None:
    seen = _seen(state, key)
    if seen.told:  # another runner's task of the same number
        seen = _opened(state, key)
    seen.begun = seen.told = True
    seen.prompt = int(found[1])


def _read_prompt(state: _State, key: _Key, found: re.Match[str]) -> None:
    seen = _seen(state, key)
    seen.told = True
    if seen.prompt is None:
        seen.prompt = int(found[1])


def _read_batch(state: _State, key: _Key, found: re.Match[str]) -> None:
    """Printed before each batch: only before the first is it what the cache held."""
    seen = _seen(state, key)
    seen.told = True
    tokens = int(found[1])
    if seen.cached is None and (seen.begun or tokens == 0):
        seen.cached = tokens
    seen.begun = False


def _read_restored(state: _State, key: _Key, found: re.Match[str]) -> None:
    _reused(_seen(state, key), int(found[1]))


def _read_forced(state: _State, key: _Key, _: re.Match[str]) -> None:
    seen = _seen(state, key)
    seen.forced_full = True
    _reused(seen, 0)


def _read_all_cached(state: _State, key: _Key, found: re.Match[str]) -> None:
    """The last token is processed again, since its result is needed."""
    seen = _seen(state, key)
    _reused(seen, max(int(found[1]) - 1, 0))
    seen.prompt = int(found[2])


def _reused(seen: _Seen, tokens: int) -> None:
    seen.begun = seen.told = True
    seen.reused = tokens


def _read_processed(state: _State, key: _Key, found: re.Match[str]) -> None:
    """The end of a task: of several with one number it is the one whose tokens add up."""
    processed = int(found[1])
    unfinished = state.open.get(key) or [_opened(state, key)]
    fitting = [seen for seen in unfinished if seen.prompt == (seen.cached or 0) + processed]
    seen = (fitting or unfinished)[-1]
    seen.processed, seen.told = processed, True
    unfinished.remove(seen)
    if not unfinished:
        del state.open[key]


def _read_cache_slot(state: _State, text: str) -> None:
    told: Mapping[str, str] = attributes(text)
    seen = _Seen(None, told=True)
    seen.prompt = whole_number(told.get("prompt"))
    seen.cached = whole_number(told.get("used"))
    seen.processed = whole_number(told.get("remaining"))
    state.tasks.append(seen)


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


_READERS: tuple[tuple[re.Pattern[str], Callable[[_State, _Key, re.Match[str]], None]], ...] = (
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
