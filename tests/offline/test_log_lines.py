"""A service's log as it was captured, and slog's attributes in it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes.log_lines import LogLine, log_lines
from apuhost.probes.plain_text import plain
from apuhost.probes.slog import attributes, quote_is_open

SLOG = (
    'time=2026-06-19T11:40:54.287-04:00 level=INFO source=a.go:3 msg="two words" size="1.0 GiB" n=4'
)


def _texts(text: str) -> list[str]:
    return [line.text for line in log_lines(text.split("\n"))]


@pytest.mark.parametrize(
    ("text", "process"),
    [
        (SLOG, None),
        (f"{SLOG}\r", None),
        (f"Jun 19 11:40:54 box ollama[1703]: {SLOG}", "ollama[1703]"),
        (f"6月 19 11:40:54 box ollama[1703]: {SLOG}", "ollama[1703]"),
        (f"2026-06-19T11:40:54-0400 box ollama[1703]: {SLOG}", "ollama[1703]"),
        (f"Fri 2026-06-19 11:40:54 EDT box ollama.service[9]: {SLOG}", "ollama.service[9]"),
        (f"ollama  | {SLOG}", None),
        (f"ollama-1  | \x1b[33m{SLOG}\x1b[0m\0", None),
        (f"2026-06-19T15:40:54.287123456Z {SLOG}", None),
        (json.dumps({"log": f"{SLOG}\n", "stream": "stderr"}, separators=(",", ":")), None),
        (f"ollama  | 2026-06-19T15:40:54.287123456Z {SLOG}", None),
    ],
)
def test_prefixes_are_taken_off(text: str, process: str | None) -> None:
    assert list(log_lines([text])) == [LogLine(process, SLOG)]


@pytest.mark.parametrize(
    "line",
    [
        '[GIN] 2026/05/09 - 11:30:26 | 200 |  619.528µs |  127.0.0.1 | GET  "/api/tags"',
        "srv  llama_server: loading model",
        "load_tensors: offloaded 33/33 layers to GPU",
        "llama_context: n_ctx_seq             = 262144",
        "  - CPU     : AMD Ryzen 7 (64220 MiB, 64220 MiB free)",
        "system_info: CPU : SSE3 = 1 | SSSE3 = 1",
        "time=2026-06-19T11:40:54.287-04:00 level=INFO source=a.go:3 msg=load",
        "",
    ],
)
def test_a_line_of_another_kind_is_no_rest_of_the_one_before(line: str) -> None:
    for first in (SLOG, f"box ollama[1]: {SLOG}", SLOG[:-6]):
        assert len(_texts(f"{first}\n{line}")) == 2


@pytest.mark.parametrize("prefix", ["", "Jun 19 11:40:54 box ollama[1703]: ", "ollama  | "])
@pytest.mark.parametrize("width", [83, 90, 101, 120, 129, 150])
def test_a_line_that_a_terminal_broke_is_whole_again(prefix: str, width: int) -> None:
    line = (
        f"{prefix}{SLOG} runner.name=registry.example/library/a:latest runner.num_ctx=4096 d=5m0s"
    )
    broken = "\n".join(line[at : at + width] for at in range(0, len(line), width))
    (text,) = _texts(f"{broken}\n[GIN] next")[:-1]
    assert attributes(text) == attributes(line)


def test_a_line_that_a_mail_program_broke_is_whole_again() -> None:
    broken = (
        SLOG.replace(" source", "\nsource")
        .replace("two words", "two\nwords")
        .replace(" n=", "\nn=")
    )
    (text,) = _texts(broken)
    assert attributes(text) == attributes(SLOG)


def test_attributes_are_unquoted() -> None:
    line = (
        r'level=WARN msg="a \"b\" \\ c\td\u00b5\x41" "total vram"="0 B" pci_id="" type=iGPU type=x'
    )
    assert attributes(line) == {
        "level": "WARN",
        "msg": 'a "b" \\ c\tdµA',
        "total vram": "0 B",
        "pci_id": "",
        "type": "iGPU",
    }


@pytest.mark.parametrize("escape", [r"\ud800", r"\Uffffffff"])
def test_an_escape_of_no_character_is_replaced(escape: str) -> None:
    assert attributes(f'a="{escape}"') == {"a": "\N{REPLACEMENT CHARACTER}"}


@pytest.mark.parametrize("text", ['a="1', 'a="1\\"', 'a="1"x'])
def test_a_value_without_its_end_is_left_out(text: str) -> None:
    assert "a" not in attributes(text)


def test_open_quotes() -> None:
    assert quote_is_open(r'a="b \" c')
    assert not quote_is_open(r'a="b \\" c')


def test_escape_sequences_go_and_tabs_stay() -> None:
    text = "\x1b[1;31ma\tb\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07\0\r\x7f µ\n"
    assert plain(text) == "a\tb link µ\n"


@pytest.mark.parametrize(
    "line", ['{"log":"cut', '{"log":"a', '{"log":"a"', '{"log":' + "[" * 5000, '{"other":"a"}']
)
def test_a_line_that_is_no_whole_object_stays_as_it_is(line: str) -> None:
    assert _texts(line) == [line]


@given(
    st.text() | st.lists(st.sampled_from([SLOG, "\n", '"', "=", "a=b", "\\", "\0"])).map("".join)
)
def test_no_text_makes_it_raise(text: str) -> None:
    for line in log_lines(text.split("\n")):
        attributes(line.text)
