"""What the person who approves a bundle reads: what changes, and what is carried."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.bundle import sizes
from apuhost.bundle.difference import Change, Thing, changes, lines
from apuhost.bundle.listing import lines as listing
from apuhost.bundle.manifest import entry
from apuhost.lockfile import Blob, Deb, Image, Lock, Model, Release, Target, Wheel


def blob(letter: str, size: int = 5) -> Blob:
    return Blob(f"sha256:{letter * 64}", size)


def image(tag: str, letter: str, *layers: Blob) -> Image:
    reference = f"localhost:5000/ollama:{tag}@sha256:{letter * 64}"
    return Image(reference, "", (blob(letter),), blob(letter), layers)


def deb(name: str, version: str, letter: str, size: int = 1000) -> Deb:
    return Deb(name, version, "amd64", "http://deb.example/x.deb", blob(letter, size), "")


OLD = Lock(
    serial=3,
    created="2026-11-01",
    apuhost="0.1.0",
    target=Target("debian", "trixie", "amd64", "3.13"),
    images=(image("0.34.4", "a", blob("b", 4_000_000), blob("b", 4_000_000)),),
    releases=(Release("http://deb.example/debian", "trixie", ("main",), blob("c")),),
    debs=(deb("docker.io", "26.1", "d"), deb("vim", "9", "e")),
    models=(Model("qwen3:8b", blob("f"), (blob("1", 3_000_000_000),)),),
    wheels=(Wheel("six-1.16.0-py2.py3-none-any.whl", "", blob("2", 999)),),
)
NEW = replace(
    OLD,
    serial=4,
    created="2026-11-30",
    images=(image("0.34.5", "3", blob("b", 4_000_000), blob("4", 2_000_000)),),
    debs=(deb("docker.io", "26.1", "5", 2000), deb("runc", "1.3", "6")),
    models=(*OLD.models, Model("tiny", blob("7"), (blob("1", 3_000_000_000),))),
)


def test_each_kind_is_told_with_its_changes_and_all_sizes_summed() -> None:
    assert list(lines(OLD, NEW)) == [
        "serial 3 of 2026-11-01 -> 4 of 2026-11-30",
        "images: 1 changed (1 -> 1)",
        "  changed  localhost:5000/ollama: 0.34.4 @aaaaaaaaaaaa -> 0.34.5 @333333333333,"
        " 4.0 MB -> 6.0 MB",
        "models: 1 added (1 -> 2)",
        "  added    tiny: @777777777777, 3.0 GB",
        "debs: 1 changed, 1 added, 1 removed (2 -> 2)",
        "  changed  docker.io:amd64: 26.1 @dddddddddddd -> 26.1 @555555555555, 1.0 kB -> 2.0 kB",
        "  added    runc:amd64: 1.3 @666666666666, 1.0 kB",
        "  removed  vim:amd64: 9 @eeeeeeeeeeee, 1.0 kB",
        "wheels: as before (1 -> 1)",
        "files: as before (0 -> 0)",
        "releases: as before (1 -> 1)",
        "3.0 GB -> 3.0 GB in all: 2.0 MB new, 2.0 kB no longer there",
    ]


def test_a_lock_does_not_differ_from_itself() -> None:
    told = list(lines(OLD, OLD))
    assert [each for each in told if "as before" in each] == told[1:-1]
    assert told[-1] == "3.0 GB -> 3.0 GB in all: 0 B new, 0 B no longer there"


def test_another_target_and_another_apuhost_are_told() -> None:
    other = replace(OLD, apuhost="0.2.0", target=replace(OLD.target, suite="bookworm"))
    told = list(lines(OLD, other))
    assert "apuhost: 0.1.0 -> 0.2.0" in told
    assert "target: debian trixie amd64 3.13 -> debian bookworm amd64 3.13" in told


def test_what_is_in_a_lock_does_not_reach_the_terminal_as_it_is() -> None:
    evil = replace(OLD, debs=(deb("\x1b[2Jx", "1", "d"),), created="now\nserial 9")
    assert all(each.isprintable() for each in lines(OLD, evil))


def test_one_name_several_times_comes_and_goes() -> None:
    one, two, three = (Thing("a", version, version, 1) for version in "123")
    assert changes([one, two], [two, three]) == (Change(one, three),)
    assert changes([one], [two, three]) == (
        Change(one, None),
        Change(None, two),
        Change(None, three),
    )


THINGS = st.frozensets(
    st.builds(Thing, *map(st.sampled_from, ("abc", "12", "xy")), st.just(1)),
)


@given(THINGS, THINGS)
def test_the_changes_lead_from_one_to_the_other(
    before: frozenset[Thing], after: frozenset[Thing]
) -> None:
    found = changes(before, after)
    gone = {each.before for each in found if each.before}
    come = {each.after for each in found if each.after}
    assert before - gone | come == after
    assert gone.isdisjoint(after)
    assert come.isdisjoint(before)


def test_the_carry_in_list_has_every_file_and_the_sum() -> None:
    told = list(listing([entry("b/c", b"x" * 1500), entry("a", b"")], {"b/": "MIT"}))
    assert told == [
        f"{'sha256':64}           bytes  file  licence",
        f"{entry('a', b'').sha256}               0  a     not stated",
        f"{entry('b', b'x' * 1500).sha256}            1500  b/c   MIT",
        "2 files, 1500 bytes (1.5 kB)",
    ]


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"),
     (31_400_000_000, "31.4 GB"), (5 * 10**15, "5000.0 TB")],
)  # fmt: skip
def test_sizes_as_people_read_them(count: int, told: str) -> None:
    assert sizes.shown(count) == told
