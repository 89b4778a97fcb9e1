"""Framed files: what goes in comes out, and a stream that does not add up is refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError
from apuhost.probes.files import TextFile, command, frame, parse_files

PATHS = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=20)
CONTENTS = st.binary(max_size=60).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
FILES = st.lists(st.builds(TextFile, PATHS, CONTENTS), max_size=4).map(tuple)


@given(FILES)
def test_every_file_comes_back_byte_for_byte(files: tuple[TextFile, ...]) -> None:
    assert parse_files(frame(files)) == files


def test_crlf_missing_final_newline_and_a_frame_inside_a_file_survive() -> None:
    files = (TextFile("/a", "x=1\r\ny=2"), TextFile("/b", "==> 3 /c\nabc\n"), TextFile("/é", ""))
    assert parse_files(frame(files)) == files


def test_bytes_are_counted_not_characters() -> None:
    assert parse_files("==> 3 /a\n\u20ac\n") == (TextFile("/a", "\u20ac"),)


def test_nothing_printed_means_no_files() -> None:
    assert parse_files("") == ()


@pytest.mark.parametrize(
    "text",
    [
        "==> 9 /a\nabc\n",
        "==> 2 /a\nabc\n",
        "==> 3 /a\nabc",
        "==> x /a\nabc\n",
        "noise\n==> 3 /a\nabc\n",
        "==> 99999999999999999999 /a\n",
        "\ud800",
    ],
)
def test_a_stream_that_does_not_add_up_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse_files(text)


@given(st.text() | st.text("=> 0123/a\n"))
def test_no_text_raises_anything_else(text: str) -> None:
    with suppress(ParseError):
        assert parse_files(text) is not None


def test_the_command_names_each_pattern_and_hides_nothing_behind_errors() -> None:
    text = command("/etc/a", "/etc/b/*.cfg")
    assert "in /etc/a /etc/b/*.cfg;" in text
    assert "|| true" not in text
