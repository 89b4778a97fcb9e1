"""Requests, replies and the command line of the stand-in: facts/ollama.md section 4."""

from datetime import UTC, datetime, timedelta

import pytest

from apuhost.rehearsal.standin import client, requests, sizes, template
from apuhost.rehearsal.standin.durations import FOREVER, MINUTE, SECOND
from apuhost.rehearsal.standin.requests import ApiError


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "missing request body"), (b"  ", "missing request body"),
        (b"{", "unexpected EOF"), (b"x", "invalid character 'x' looking for beginning of value"),
        (b"[]", "json: cannot unmarshal array into Go value of type api"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_object_is_a_bad_request(data: bytes, message: str) -> None:
    with pytest.raises(ApiError, match=f"^{message}$") as error:
        requests.parse(data)
    assert error.value.status == 400


@pytest.mark.parametrize(
    ("value", "nanoseconds"),
    [("null", None), ("0", 0), ("-1", FOREVER), ("300", 300 * SECOND), ('"5m"', 5 * MINUTE),
     ('"-1s"', FOREVER), ('"0"', 0), ("0.5", SECOND // 2)],
)  # fmt: skip
def test_keep_alive_of_a_request(value: str, nanoseconds: int | None) -> None:
    assert requests.parse(b'{"keep_alive":%b}' % value.encode()).keep_alive == nanoseconds


def test_a_keep_alive_text_needs_a_unit() -> None:
    body = requests.parse(b'{"keep_alive":"-1"}')
    with pytest.raises(ApiError, match='time: missing unit in duration "-1"'):
        _ = body.keep_alive


@pytest.mark.parametrize("data", [b'{"stream":"no"}', b'{"stream":0}'])
def test_a_value_of_another_type_is_refused(data: bytes) -> None:
    with pytest.raises(ApiError, match=r"json: cannot unmarshal .* into Go struct field \.stream"):
        _ = requests.parse(data).streams


def test_answers_come_in_pieces_unless_that_is_switched_off() -> None:
    assert requests.parse(b"{}").streams
    assert not requests.parse(b'{"stream":false}').streams


@pytest.mark.parametrize("name", ["", "a b", "a/b/c/d"])
def test_a_name_that_is_none_is_a_bad_request(name: str) -> None:
    with pytest.raises(ApiError, match="invalid model name"):
        _ = requests.parse(b'{"model":"%b"}' % name.encode()).name


def test_json_is_packed_as_go_packs_it() -> None:
    assert requests.pack({"a": "<é&>", "b": 1}) == ('{"a":"\\u003cé\\u0026\\u003e","b":1}'.encode())


@pytest.mark.parametrize(
    ("size", "on_gpu", "shown"),
    [(10, 10, "100% GPU"), (10, 0, "100% CPU"), (10, 4, "60%/40% CPU/GPU"), (1, 2, "Unknown")],
)
def test_ps_tells_where_a_model_is(size: int, on_gpu: int, shown: str) -> None:
    assert client.processor(size, on_gpu) == shown


@pytest.mark.parametrize(
    ("delta", "shown"),
    [
        (timedelta(seconds=-2), "2 seconds ago"), (timedelta(seconds=-1), "1 second ago"),
        (timedelta(minutes=4, seconds=59), "4 minutes from now"),
        (timedelta(minutes=1), "About a minute from now"),
        (timedelta(hours=-1), "About an hour ago"), (timedelta(days=-3), "3 days ago"),
        (timedelta(days=365 * 292), "Forever"), (timedelta(days=-365 * 3), "3 years ago"),
        (timedelta(milliseconds=-5), "Less than a second ago"),
    ],
)  # fmt: skip
def test_times_are_told_roughly(delta: timedelta, shown: str) -> None:
    now = datetime(2026, 11, 29, tzinfo=UTC)
    assert client.when((now + delta).isoformat(), now) == shown


def test_tables_are_padded_after_the_last_column_too() -> None:
    assert client.table(["NAME", "ID"], [["tiny:latest", "a7"]]) == (
        "NAME           ID    \ntiny:latest    a7    \n"
    )


@pytest.mark.parametrize(
    ("count", "binary", "decimal"),
    [(0, "0 B", "0 B"), (1023, "1023 B", "1.0 KB"), (257_430, "251.4 KiB", "257 KB"),
     (1_500_000, "1.4 MiB", "1.5 MB"), (21 * 10**9, "19.6 GiB", "21 GB"),
     (2**40, "1024.0 GiB", "1.1 TB")],
)  # fmt: skip
def test_sizes_for_the_log_and_for_people(count: int, binary: str, decimal: str) -> None:
    assert sizes.binary(count) == binary
    assert sizes.decimal(count) == decimal


@pytest.mark.parametrize(
    ("count", "shown"),
    [(999, "999"), (123_584, "124K"), (1_240_000, "1.24M"), (7 * 10**9, "7B"),
     (35_500_000_000, "35.5B")],
)  # fmt: skip
def test_a_model_s_size_in_parameters(count: int, shown: str) -> None:
    assert sizes.parameters(count) == shown


TEMPLATE = "{{ if .System }}{{ .System }}\n{{ end }}{{ .Prompt }}\n"


def test_a_template_leaves_out_what_is_not_there() -> None:
    assert template.render(TEMPLATE, {"System": "", "Prompt": "hi"}) == "hi\n"
    assert template.render(TEMPLATE, {"System": "be", "Prompt": "hi"}) == "be\nhi\n"


def test_a_conversation_is_one_prompt() -> None:
    messages = [
        {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]  # fmt: skip
    assert template.conversation(TEMPLATE, messages, "sys") == "sys\na\nb\nc\n"
