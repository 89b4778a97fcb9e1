"""Groups and users as getent lists them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, accounts
from apuhost.probes.accounts import Group

LINES = (
    "group render:x:992:\n"
    "group video:x:44:ada,brian\n"
    "group docker:x:991:ada\n"
    "user root\nuser ada\nuser brian\nend\n"
)


def test_groups_with_members_and_users() -> None:
    assert accounts.parse(LINES) == accounts.Accounts(
        {
            "render": Group("render", 992, frozenset()),
            "video": Group("video", 44, frozenset({"ada", "brian"})),
            "docker": Group("docker", 991, frozenset({"ada"})),
        },
        frozenset({"root", "ada", "brian"}),
    )


def test_a_host_without_the_groups() -> None:
    assert accounts.parse("user root\nend\n").groups == {}


@pytest.mark.parametrize(
    "line", ["group render:x:many:", "group render", "group :x:9:", "group a:b:c:9:d", "group 7"]
)
def test_a_line_of_another_form_is_no_group(line: str) -> None:
    assert accounts.parse(f"{line}\nuser root\nend").groups == {}


@pytest.mark.parametrize("text", ["", "end\n", LINES[:-4], "group render:x:992:\nend\n"])
def test_a_cut_list_is_not_read(text: str) -> None:
    with pytest.raises(ParseError):
        accounts.parse(text)


@given(st.text() | st.text().map(lambda text: f"group {text}\nuser root\nend"))
def test_no_text_raises_anything_but_parse_error(text: str) -> None:
    with suppress(ParseError):
        accounts.parse(text)
