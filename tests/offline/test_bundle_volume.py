"""How a bundle is cut into volumes: nothing lost, nothing twice, none too large."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.bundle import sizes, volume
from apuhost.bundle.item import BundleError
from apuhost.bundle.splitting import split
from apuhost.bundle.volume import LIST, Part, Slice, Volume, VolumeError, as_text, parse, plan

DIGEST = "a" * 64
FILES = st.lists(
    st.tuples(st.from_regex(r"[a-z0-9]{1,60}", fullmatch=True), st.integers(0, 40_000)),
    max_size=12,
    unique_by=lambda each: each[0],
)


def part(each: Slice) -> Part:
    return Part(each.path, each.offset, each.size, each.whole, DIGEST)


def volumes(files: list[tuple[str, int]], limit: int) -> list[Volume]:
    planned = plan(files, limit)
    return [
        Volume(DIGEST, number, len(planned), tuple(map(part, slices)))
        for number, slices in enumerate(planned, 1)
    ]


@given(FILES, st.integers(2_000, 50_000))
def test_every_byte_is_in_one_volume_and_none_is_too_large(
    files: list[tuple[str, int]], limit: int
) -> None:
    cut = volumes(files, limit)
    assert not list(volume.gaps(cut))
    parts = [each for one in cut for each in one.parts]
    assert {each.path: each.whole for each in parts} == dict(files)
    assert sum(each.size for each in parts) == sum(size for _, size in files)
    for one in cut:
        content = as_text(one).encode()
        assert parse(content) == one
        assert len(content) + sum(each.size for each in one.parts) <= limit


def test_volumes_are_filled_and_what_fits_keeps_its_path() -> None:
    files = [("small", 100), ("large", 20_000), ("last", 1)]
    names = [[each.name for each in one.parts] for one in volumes(files, 10_000)]
    assert names == [["small", "large.from-0"], ["large.from-8354"], ["large.from-17325", "last"]]


def test_a_small_file_is_not_cut_for_a_little_room() -> None:
    cut = volumes([("a", 8_300), ("b", 600)], 10_000)
    assert [[each.name for each in one.parts] for one in cut] == [["a"], ["b"]]


def test_a_limit_below_which_nothing_fits_is_told() -> None:
    with pytest.raises(VolumeError, match="1000 bytes are too few for a volume: a"):
        plan([("a", 5)], 1000)


def test_more_volumes_than_anybody_carries_are_not_made() -> None:
    with pytest.raises(VolumeError, match="there would be 2"):
        plan([("a", 10**8)], 5000)


def test_missing_numbers_are_named() -> None:
    cut = volumes([("a", 30_000)], 10_000)
    assert volume.missing(cut) == ()
    assert volume.missing(cut[1:2]) == (1, 3, 4)


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(Slice("a", 1, 3, 5), id="a gap"),
        pytest.param(Slice("a", 2, 1, 5), id="short"),
        pytest.param(Slice("a", 2, 3, 9), id="another size"),
    ],
)
def test_parts_that_do_not_make_the_file_are_named(second: Slice) -> None:
    good = [one_of_two(Slice("a", 0, 2, 5)), one_of_two(Slice("a", 2, 3, 5))]
    assert not list(volume.gaps(good))
    assert [each.path for each in volume.gaps([good[0], one_of_two(second)])] == ["a"]
    assert [each.path for each in volume.gaps([*good, good[1]])] == ["a"]


def one_of_two(each: Slice) -> Volume:
    return Volume(DIGEST, 1, 2, (part(each),))


ONE = Volume(DIGEST, 1, 1, (part(Slice("a/b", 0, 5, 5)),))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(as_text(ONE)[:-9], "the file: Invalid JSON", id="cut"),
        pytest.param(as_text(replace(ONE, number=2)), "number: 2 of 1", id="number"),
        pytest.param(as_text(replace(ONE, count=10**12)), "count: ", id="count"),
        pytest.param(as_text(ONE).replace("a/b", "../b"), "parts: '../b'", id="a path"),
        pytest.param(as_text(ONE).replace("a/b", LIST), "there twice", id="its own list"),
        pytest.param(as_text(ONE).replace("a/b", ".volumes/b"), "a file and a", id="a join's"),
        pytest.param(as_text(ONE).replace('"offset": 0', '"offset": -1'), "offset", id="offset"),
        pytest.param(as_text(ONE).replace("aaaa", "zzzz", 1), "manifest", id="hash"),
    ],
)
def test_what_is_no_list_is_told(content: str, told: str) -> None:
    with pytest.raises(VolumeError, match=told):
        parse(content.encode())


def test_no_part_is_larger_than_a_sticks_file_system_takes() -> None:
    planned = plan([("model", 40_000_000_000)], sizes.parse("32GB"))
    parts = [each for slices in planned for each in slices]
    assert max(each.size for each in parts) == volume.FAT32
    assert sum(each.size for each in parts) == 40_000_000_000
    assert [len(slices) for slices in planned] == [7, 3]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GiB", 4 * 1024**3),
        ("1.5 GiB", 3 * 1024**3 // 2),
        ("700MB", 700_000_000),
        ("dvd", sizes.DVD),
    ],
)
def test_a_mediums_size_is_read_as_people_write_it(text: str, size: int) -> None:
    assert sizes.parse(text) == size


@pytest.mark.parametrize("text", ["", "4", "4G", "-1GB", "1e9MB", "four GB", "DVD", "4GiB "])
def test_what_is_no_size_is_told(text: str) -> None:
    with pytest.raises(BundleError, match="is no size: dvd, or a number with MB, GB"):
        sizes.parse(text)


@pytest.mark.parametrize("where", [".", "volumes", "apt/volumes", "../bundle"])
def test_volumes_do_not_go_into_their_bundle_where_nobody_signed_them(
    tmp_path: Path, where: str
) -> None:
    bundle = tmp_path / "bundle"
    (bundle / "apt").mkdir(parents=True)
    with pytest.raises(VolumeError, match="lies within the bundle"):
        split(bundle, bundle / where, lambda _: None)
    assert [path.name for path in bundle.rglob("*")] == ["apt"]
