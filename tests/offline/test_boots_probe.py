"""What a host keeps of its boots, and what is in a saved one; nothing in either is trusted."""

import gzip
from base64 import b64encode
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import stack
from tests.support.hosts import host_facts
from tests.support.stack import boots as listed
from tests.support.stack import saved

from apuhost import saved_boot
from apuhost.host_facts import Unreadable
from apuhost.probes import ParseError, boots

SAVED = saved(host_facts().readings)
PAST = "11111111-2222-4333-8444-555555555555"


def sent(raw: bytes) -> str:
    return f"boot {PAST} {len(raw)} 5\nsaved {PAST} {b64encode(raw).decode()}\nend\n"


def test_boots_are_listed_and_the_past_ones_opened() -> None:
    kept = boots.parse(listed(SAVED)).kept
    assert [(each.boot_id, each.text is None) for each in kept] == [
        (stack.BOOT_ID, True),
        (PAST, False),
    ]
    assert kept[1].text == SAVED
    assert boots.parse(listed(SAVED)).of(PAST) == kept[1]


def test_a_host_that_keeps_none() -> None:
    assert boots.parse("end\n").kept == ()
    assert boots.parse("end\n").of(PAST) is None


@pytest.mark.parametrize("text", ["", f"boot {PAST} 1 2\n", "end of it"])
def test_a_list_that_was_cut_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        boots.parse(text)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"plain text", id="not compressed"),
        pytest.param(gzip.compress(b"x" * 9000)[:-9], id="cut"),
        pytest.param(gzip.compress(bytes(65 * 1024 * 1024)), id="a bomb"),
    ],
)
def test_a_damaged_boot_is_told_and_spoils_nothing_else(raw: bytes) -> None:
    (kept,) = boots.parse(sent(raw)).kept
    assert (kept.text, kept.damaged) == (None, True)


def test_base64_that_is_none_is_damaged() -> None:
    (kept,) = boots.parse(f"boot {PAST} 1 2\nsaved {PAST} ***\nend\n").kept
    assert kept.damaged


@given(st.text(max_size=60))
def test_no_list_raises_anything_else(text: str) -> None:
    with suppress(ParseError):
        assert all(each.text is None for each in boots.parse(f"{text}\nend\n").kept)


def test_secrets_in_saved_boots_can_be_rewritten() -> None:
    text = listed(SAVED)
    changed = boots.parse(boots.rewritten(text, lambda each: each.replace("minipc", "xxxxxx")))
    assert changed.kept[1].text == SAVED.replace("minipc", "xxxxxx")
    assert boots.rewritten(sent(b"damaged"), str) == f"boot {PAST} 7 5\nend\n"
    assert boots.parse(boots.without_saved(text)).kept[1].text is None


def test_a_saved_boot_gives_the_readings_back() -> None:
    facts = saved_boot.read(SAVED, "minipc")
    expected = {name: each for name, each in host_facts().readings.items() if name != "boots"}
    assert facts.readings == expected
    assert (facts.host, facts.gathered) == ("minipc", "2026-11-28T09:14:00+00:00")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(SAVED[:-10], id="cut"),
        pytest.param(SAVED.replace("apuhost-boot", "boot"), id="another head"),
        pytest.param(SAVED.replace("abcdef==", "abcdee==", 1), id="another mark"),
    ],
)
def test_what_is_not_whole_is_no_saved_boot(text: str) -> None:
    with pytest.raises(Unreadable, match="not whole"):
        saved_boot.read(text, "minipc")


def test_without_settings_it_says_who_can_judge_it() -> None:
    with pytest.raises(Unreadable, match="verify INVENTORY"):
        saved_boot.settings_in(saved_boot.read(SAVED, "minipc"))
