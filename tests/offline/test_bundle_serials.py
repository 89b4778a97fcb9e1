"""The newest serial is kept; an older one is let in for a reason only, which is kept, too."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from apuhost.bundle import serials
from apuhost.bundle.item import BundleError
from apuhost.bundle.refusal import RefusedError
from apuhost.bundle.serials import Accepted, Newest, after, settle
from apuhost.lockfile import Lock, Target

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
TARGET = Target("debian", "trixie", "amd64", "3.13")


def lock(serial: int) -> Lock:
    return Lock(serial, f"day {serial}", "0.1.0", TARGET)


def test_the_newest_is_what_was_seen_last_or_before() -> None:
    first = after(None, lock(3), "", NOW)
    assert first == Newest(3, "day 3")
    assert after(first, lock(3), "", NOW) == first
    assert after(first, lock(5), "", NOW) == Newest(5, "day 5")


def test_an_older_one_is_refused_and_with_a_reason_noted() -> None:
    known = Newest(5, "day 5")
    with pytest.raises(RefusedError, match="serial 4 of day 4 is older than 5 of day 5"):
        after(known, lock(4), "", NOW)
    let_in = after(known, lock(4), "5 does not boot", NOW)
    assert let_in == Newest(
        5, "day 5", (Accepted(4, "2026-11-30T09:00:00+00:00", "5 does not boot"),)
    )
    with pytest.raises(RefusedError):
        after(let_in, lock(4), "", NOW)
    assert after(let_in, lock(6), "", NOW).accepted == let_in.accepted


def test_it_is_kept_from_run_to_run_for_each_target() -> None:
    settle(lock(5))
    settle(replace(lock(1), target=replace(TARGET, suite="../book worm")))
    with pytest.raises(RefusedError, match="older than 5"):
        settle(lock(4), "  ")
    settle(lock(4), "5 does not boot")
    kept = json.loads(serials.record(TARGET).read_text())
    assert (kept["serial"], kept["accepted"][0]["reason"]) == (5, "5 does not boot")
    names = sorted(each.name for each in serials.record(TARGET).parent.iterdir())
    assert names == ["debian-..%2Fbook%20worm-amd64.json", "debian-trixie-amd64.json"]


@pytest.mark.parametrize("text", ["", "[]", '{"serial": "5", "created": ""}'])
def test_a_damaged_record_lets_nothing_in(text: str) -> None:
    settle(lock(5))
    serials.record(TARGET).write_text(text)
    with pytest.raises(BundleError, match=r"trixie-amd64\.json: no record"):
        settle(lock(6))


def test_a_record_that_cannot_be_kept_is_one_line() -> None:
    serials.record(TARGET).parent.parent.joinpath("bundles").write_text("")
    with pytest.raises(BundleError, match="bundles"):
        settle(lock(5))
