"""What runners took from their prompt caches, in every release's form."""

import time
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.captures import COMPOSE, DOCKERS_TIME, JOURNALD, behind, mailed, shown
from tests.support.samples import sample

from apuhost.probes import ParseError, prefix_cache
from apuhost.probes.prefix_cache import PrefixCache, Task


def _slot(task: int, message: str, *, slot: int = 0, function: str = "update_slots") -> str:
    return f"slot {function:>12}: id {slot:2} | task {task} | {message}\n"


def _new(task: int, tokens: int, slot: int = 0) -> str:
    message = f"new prompt, n_ctx_slot = 8192, n_keep = 4, task.n_tokens = {tokens}"
    return _slot(task, message, slot=slot, function="operator()")


def _cached(task: int, tokens: int, slot: int = 0) -> str:
    return _slot(task, f"cached n_tokens = {tokens}, memory_seq_rm [{tokens}, end)", slot=slot)


def _timing(tokens: int) -> str:
    return (
        f"prompt eval time = {tokens * 2.5:10.2f} ms / {tokens:5} tokens (    2.50 ms per token, "
        "  400.00 tokens per second)"
    )


def _timed(task: int, tokens: int, slot: int = 0) -> str:
    return (
        _slot(task, _timing(tokens), slot=slot, function="print_timing")
        + _slot(
            task, "       eval time =     900.00 ms /    99 tokens ( 9 ms per token)", slot=slot
        )
        + _slot(task, f"      total time =    1900.00 ms / {tokens + 99:5} tokens", slot=slot)
        + _slot(task, "stop processing: n_tokens = 1099, truncated = 0", slot=slot)
    )


FORCING = (
    "forcing full prompt re-processing due to lack of cache data (likely due to SWA or "
    "hybrid/recurrent memory, see https://example.org/13194)"
)
HEAD = (
    "srv    load_model: prompt cache is enabled, size limit: 8192 MiB\n"
    "slot get_availabl: id  0 | task -1 | selected slot by LCP similarity, f_sim_best = 1.000 "
    "(> 0.100 thold), f_keep = 0.9\n"
    "slot launch_slot_: id  0 | task 7 | processing task, is_child = 0\n"
)
HIT = (
    HEAD
    + _new(7, 1000)
    + _cached(7, 900)
    + _cached(7, 964)
    + _slot(7, "init sampler, took 0.16 ms, tokens: text = 1000, total = 1000")
    + _timed(7, 100)
    + "srv  update_slots: all slots are idle\n"
)
TASK = Task(7, prompt_tokens=1000, cached_tokens=900, processed_tokens=100, forced_full=False)
READ = PrefixCache((TASK,), prompt_tokens=1000, processed_tokens=100)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HIT, id="bare"),
        pytest.param(HIT.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(HIT.replace("f_sim_best", "sim_best"), id="before 0.32.6"),
        pytest.param(behind(COMPOSE, HIT), id="Compose"),
        pytest.param(behind(JOURNALD, HIT), id="journald"),
        pytest.param(behind(DOCKERS_TIME, HIT), id="docker's time"),
        pytest.param(
            "".join(f"8.08.180.47{n % 10} W {line}\n" for n, line in enumerate(HIT.splitlines())),
            id="llama.cpp's own time and level",
        ),
        pytest.param(behind("[57325] 2.14.866.220 I ", HIT), id="behind a router"),
        pytest.param(HIT.replace("slot ", "\x1b[32mslot\x1b[0m\0 "), id="colours and NULs"),
        pytest.param(mailed(HIT), id="broken by a mail program"),
        *[
            pytest.param(shown(HIT, width), id=f"broken by a terminal of {width} columns")
            for width in (77, 80, 95, 97, 98, 99)
        ],
        pytest.param(
            HIT.replace("\n", '\n[GIN] 2026/06/28 - 20:51:49 | 200 | 48.5s | ::1 | POST "/api"\n'),
            id="requests between the lines",
        ),
        pytest.param(
            HIT.replace("\n", "\n2026-09-10 08:00:01 | 24 of another program\n"),
            id="numbers between the lines",
        ),
    ],
)
def test_the_same_task_in_every_form(text: str) -> None:
    assert prefix_cache.parse(text) == READ


OLD_NEW = "new prompt, n_ctx_slot = 8192, n_keep = 0, n_prompt_tokens = 1000"
C_PLUS_PLUS = 'tid="13992004" timestamp=1755555078 id_slot=0 id_task=7'
OLLAMA_OWN = 'slot_id=0 task_id=7 tid="13992004" timestamp=1722681758'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            _new(7, 1000)
            + _slot(7, "n_tokens = 900, memory_seq_rm [900, end)")
            + _slot(7, "prompt processing progress, n_tokens = 964, batch.n_tokens = 64")
            + _slot(7, "n_tokens = 964, memory_seq_rm [964, end)")
            + _slot(7, "prompt processing done, n_tokens = 1000, batch.n_tokens = 36")
            + _slot(7, "", function="print_timing")
            + f"{_timing(100)}\n       eval time = 9.00 ms / 5 tokens\n"
            "      total time = 9.00 ms / 105 tokens\n",
            id="2025-10 to 2026-05",
        ),
        pytest.param(
            _slot(7, OLD_NEW)
            + _slot(7, "kv cache rm [900, end)")
            + _slot(7, "kv cache rm [964, end)")
            + _slot(7, "prompt done, n_past = 1000, n_tokens = 36")
            + _slot(7, "stop processing: n_past = 1099, truncated = 0")
            + _slot(7, "", function="print_timing")
            + f"{_timing(100)}\n",
            id="2024-09 to 2025-10: its end is told before its timings",
        ),
        pytest.param(
            f"INFO [   launch_slot_with_task] slot is processing task | {C_PLUS_PLUS}\n"
            f"INFO [            update_slots] kv cache rm [p0, end) | {C_PLUS_PLUS} p0=900\n"
            f"INFO [            update_slots] kv cache rm [p0, end) | {C_PLUS_PLUS} p0=964\n"
            f"INFO [           print_timings] {_timing(100)} | {C_PLUS_PLUS} t_token=2.5\n",
            id="2024: attributes behind the message",
        ),
        pytest.param(
            f"DEBUG [launch_slot_with_data] slot is processing task | {OLLAMA_OWN}\n"
            f"DEBUG [update_slots] kv cache rm [p0, end) | p0=900 {OLLAMA_OWN}\n"
            f"DEBUG [print_timings] {_timing(100)} | t_token=2.5 {OLLAMA_OWN}\n",
            id="Ollama 0.3",
        ),
        pytest.param(_new(7, 1000) + _timed(7, 100), id="its cache is not told"),
        pytest.param(_new(7, 1000) + _cached(7, 900) + _timed(7, 100), id="one batch"),
        pytest.param(HEAD + _cached(7, 900) + _timed(7, 100), id="its prompt is not told"),
        pytest.param(
            _slot(7, "n_past = 946, slot.prompt.tokens.size() = 1599, seq_id = 1, pos_min = 598")
            + _slot(7, "Checking checkpoint with [899, 899] against 945...")
            + _slot(
                7,
                "restored context checkpoint (pos_min = 899, pos_max = 899, n_tokens = 900, "
                "n_past = 900, size = 62.934 MiB)",
            )
            + _slot(7, "erased invalidated context checkpoint (n_tokens = 1573, pos_next = 900)")
            + _timed(7, 100),
            id="a checkpoint behind which less was kept than matched",
        ),
    ],
)
def test_the_same_task_of_every_release(text: str) -> None:
    assert prefix_cache.parse(text) == READ


@pytest.mark.parametrize(
    "told",
    [
        "for each active slot (n_past = 24, task.n_tokens() = 24)",
        "for each active slot, n_past = 24, n_prompt_tokens = 24",
        "to generate logits, n_past = 24, n_prompt_tokens = 24",
    ],
)
def test_a_prompt_that_was_cached_whole_is_processed_for_its_last_token(told: str) -> None:
    told = f"need to evaluate at least 1 token {told}"
    whole = Task(3, prompt_tokens=24, cached_tokens=23, processed_tokens=1, forced_full=False)
    without = _slot(3, told) + _timed(3, 1)
    assert prefix_cache.parse(without).tasks == (whole,)
    cached = _slot(3, "n_past was set to 23") + _cached(3, 23)
    assert prefix_cache.parse(_new(3, 24) + _slot(3, told) + cached + _timed(3, 1)).tasks == (
        whole,
    )


@pytest.mark.parametrize(
    "forcing", [FORCING, FORCING.replace(" or hybrid/recurrent memory", "") + ", n_swa = 1"]
)
def test_a_cache_without_a_state_to_go_on_from(forcing: str) -> None:
    text = _new(3, 24) + _slot(3, forcing) + _cached(3, 0) + _cached(3, 20) + _timed(3, 24)
    assert prefix_cache.parse(text).tasks == (Task(3, 24, 0, 24, forced_full=True),)


def test_what_looks_alike_is_nothing_reused() -> None:
    """The best similarity, and nothing kept of it: as with hybrid models."""
    text = HEAD + _new(7, 24) + _cached(7, 0) + _cached(7, 20) + _timed(7, 24)
    assert prefix_cache.parse(text) == PrefixCache((Task(7, 24, 0, 24, False),), 24, 24)


def test_go_runners_tell_a_prompt_without_a_task() -> None:
    line = (
        "time=2025-10-03T13:18:05.002+02:00 level=DEBUG source=cache.go:142 "
        'msg="loading cache slot" id=0 cache=1099 prompt=1000 used=900 remaining=100\n'
    )
    task = Task(None, 1000, 900, 100, forced_full=False)
    assert prefix_cache.parse(line * 2) == PrefixCache((task, task), 2000, 200)


def test_a_number_of_too_many_digits_is_not_told() -> None:
    line = f'level=DEBUG source=cache.go:142 msg="loading cache slot" prompt={"9" * 20} used=9\n'
    assert prefix_cache.parse(line).tasks == (Task(None, None, 9, None, False),)


@pytest.mark.parametrize("end", [_timed(7, 100), ""], ids=["timed", "given up"])
def test_a_task_takes_few_bytes(end: str) -> None:
    tracemalloc.start()
    tasks = 10_000
    log = (
        _new(n, 1000 + n) + _cached(n, 900 + n) + end.replace("task 7", f"task {n}")
        for n in range(tasks)
    )
    read = prefix_cache.read(line for text in log for line in text.splitlines())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [task.cached_tokens for task in read.tasks] == [900 + n for n in range(tasks)]
    assert peak / tasks < 150


def test_slots_whose_lines_are_mixed() -> None:
    text = (
        _new(1, 50, slot=2)
        + _cached(1, 10, slot=2)
        + _new(0, 60, slot=3)
        + _cached(0, 0, slot=3)
        + _cached(1, 42, slot=2)
        + _slot(0, "", slot=3, function="print_timing")
        + f"{_timing(60)}\n"
        + _slot(1, "", slot=2, function="print_timing")
        + f"{_timing(40)}\n"
    )
    assert prefix_cache.parse(text) == PrefixCache(
        (Task(1, 50, 10, 40, False), Task(0, 60, 0, 60, False)), 110, 100
    )


def test_a_task_of_the_same_number_in_another_runner() -> None:
    one = _new(0, 50) + _cached(0, 0)
    other = _new(0, 80) + _cached(0, 70)
    tasks = (Task(0, 50, 0, 50, False), Task(0, 80, 70, 10, False))
    assert prefix_cache.parse(one + _timed(0, 50) + other + _timed(0, 10)).tasks == tasks
    assert prefix_cache.parse(one + other + _timed(0, 50) + _timed(0, 10)).tasks == tasks
    assert prefix_cache.parse(one + other + _timed(0, 10) + _timed(0, 50)).tasks == tasks


def test_servers_behind_a_router_are_told_apart() -> None:
    lines = zip(
        (_new(0, 50) + _cached(0, 0) + _timed(0, 50)).splitlines(),
        (_new(0, 80) + _cached(0, 70) + _timed(0, 10)).splitlines(),
        strict=True,
    )
    text = "".join(f"[1] 0.01.002 I {one}\n[2] 0.01.002 I {two}\n" for one, two in lines)
    assert prefix_cache.parse(text).tasks == (
        Task(0, 50, 0, 50, False),
        Task(0, 80, 70, 10, False),
    )


@pytest.mark.parametrize(
    ("text", "task"),
    [
        pytest.param(_cached(7, 512), Task(7, None, None, None, False), id="a later batch"),
        pytest.param(
            _cached(7, 512) + _timed(7, 600), Task(7, None, None, 600, False), id="its beginning"
        ),
        pytest.param(
            _cached(7, 512) + _slot(7, "init sampler, took 1 ms, tokens: text = 9, total = 700"),
            Task(7, 700, None, None, False),
            id="its beginning and its end",
        ),
        pytest.param(
            _cached(7, 512)
            + _slot(7, "init sampler, took 1 ms, tokens: text = 700, total = 700")
            + _timed(7, 600),
            Task(7, 700, 100, 600, False),
            id="its beginning, but the rest tells it",
        ),
        pytest.param(_timed(7, 600), Task(7, None, None, 600, False), id="all but its end"),
        pytest.param(_new(7, 50), Task(7, 50, None, None, False), id="all but its beginning"),
        pytest.param(
            _new(7, 50) + _cached(7, 9), Task(7, 50, 9, None, False), id="it was given up"
        ),
        pytest.param(
            _new(7, 50) + _cached(7, 9)[:-14], Task(7, 50, None, None, False), id="in a line"
        ),
        pytest.param(
            _new(7, 50) + _timed(7, 60), Task(7, 50, None, 60, False), id="what does not add up"
        ),
        pytest.param(
            _new(7, 50) + _cached(7, 10**11), Task(7, 50, None, None, False), id="no number"
        ),
    ],
)
def test_what_was_cut_off_is_not_told(text: str, task: Task) -> None:
    assert prefix_cache.parse(text).tasks == (task,)


def test_timings_go_to_no_other_task() -> None:
    text = _new(7, 50) + f"{_timing(50)}\nllama_perf_context_print: {_timing(50)}\n"
    assert prefix_cache.parse(text).tasks == (Task(7, 50, None, None, False),)
    other = _slot(7, "", function="print_timing") + f"llama_perf_context_print: {_timing(9)}\n"
    assert prefix_cache.parse(_new(7, 50) + other).tasks == (Task(7, 50, None, None, False),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "srv  update_slots: all slots are idle\n",
        "slot get_availabl: id  0 | task -1 | selected slot by LRU, t_last = -1\n",
        "slot launch_slot_: id  0 | task 7 | processing task, is_child = 0\n",
        '[GIN] 2026/06/28 - 20:51:49 | 200 | 1ms | ::1 | GET "/api/tags"\n',
    ],
)
def test_nothing_tells_nothing(text: str) -> None:
    assert prefix_cache.parse(text) == PrefixCache((), 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "root=/dev/sda1 ro\n",
        "\x7fELF\0\0",
        "{}",
        "[    0.5] pci 0000:00:02.0: slot 5 | task\n[    9.1] amdgpu: Process ollama pid 7\n",
        "Ollama takes a slot for each task, and llama.cpp keeps its prompt.\n",
    ],
)
def test_text_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        prefix_cache.parse(text)


LINES = [*HIT.splitlines(), *_timing(100).split(), _slot(7, FORCING)[:-1], "", "\0", "²", "slot "]


@given(
    st.text()
    | st.lists(st.sampled_from(LINES)).map("\n".join)
    | st.lists(st.sampled_from(LINES)).map(" ".join)
    | st.integers(0, len(HIT)).map(lambda cut: HIT[:cut])
)
def test_no_text_makes_it_raise_or_invent(text: str) -> None:
    with suppress(ParseError):
        read = prefix_cache.parse(text)
        for task in read.tasks:
            assert task.prompt_tokens in (None, 1000)
            assert task.cached_tokens in (None, 0, 900, 964)
            assert task.processed_tokens in (None, 100)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("slot " * 400_000, id="one word"),
        pytest.param("slot" + " " * 2_000_000, id="blanks"),
        pytest.param("slot a: id 0 | task 1 | new prompt, " + "n_tokens " * 200_000, id="a line"),
        pytest.param(_new(1, 5) * 10_000 + _timed(1, 9) * 10_000, id="tasks of one number"),
        pytest.param(("slot a: id 0 | task 1 | " + "x" * 70 + "\n") * 20_000, id="lines"),
    ],
)
def test_long_text_is_read_at_once(text: str) -> None:
    started = time.process_time()
    with suppress(ParseError):
        prefix_cache.parse(text)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("file", "tasks"),
    [
        (
            "01-llama-server-hybrid-sim1.000-but-nothing-reused",
            [(0, 24, 0, 24), (130, 24, 0, 24)],
        ),
        (
            "02-llama-server-4-slots-interleaved",
            [(0, 24, 0, 24), (1, 24, 0, 24), (3, 24, 0, 24), (4, 24, 0, 24)],
        ),
        (
            "03-ollama-llama-server-cached-n_tokens-is-progress-not-hit",
            [(0, 7303, 0, 7303), (79, 293, 6, 287)],
        ),
        ("05-ollama-0.33.2-f_sim-and-operator-names-cold", [(0, 871, 0, 871)]),
        (
            "07-llama-server-restored-checkpoint-full-hit-W-severity",
            [(277, 958, 957, 1)],
        ),
        ("09-llama-swap-pid-prefix-n_past-346-restored-61", [(2244, 577, 61, 516)]),
    ],
)
def test_real_logs(file: str, tasks: list[tuple[int, ...]]) -> None:
    read = prefix_cache.parse(sample(f"prefix-cache/{file}.txt"))
    assert [
        (task.task, task.prompt_tokens, task.cached_tokens, task.processed_tokens)
        for task in read.tasks
    ] == tasks
    assert not any(task.forced_full for task in read.tasks)
