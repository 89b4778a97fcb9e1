"""Names of many hosts as ranges, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost import ranges
from apuhost.ranges import RangeError


def boxes(first: int, last: int) -> list[str]:
    return [f"box{number:02}" for number in range(first, last + 1)]


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        pytest.param([], [], id="none"),
        pytest.param(["minipc"], ["minipc"], id="one without a number"),
        pytest.param(boxes(1, 2), ["box01", "box02"], id="two are as short"),
        pytest.param(boxes(1, 17), ["box[01:17]"], id="a row"),
        pytest.param([*boxes(1, 3), *boxes(7, 7)], ["box[01:03]", "box07"], id="a gap"),
        pytest.param([*boxes(3, 4), "ann", *boxes(1, 2)], ["box[01:04]", "ann"], id="in any order"),
        pytest.param(["b8", "b9", "b10", "b11", "b12"], ["b8", "b9", "b[10:12]"], id="digits"),
        pytest.param(
            [f"c{number}.rack7.example" for number in range(3)], ["c[0:2].rack7.example"], id="host"
        ),
        pytest.param([f"site2-{number}" for number in range(3)], ["site2-[0:2]"], id="the last"),
        pytest.param([f"192.0.2.{number}" for number in (7, 8, 9)], ["192.0.2.[7:9]"], id="IPv4"),
        pytest.param(["a1", "a1", "a2"], ["a1", "a2"], id="twice"),
        pytest.param(["a¹", "a²", "a³"], ["a¹", "a²", "a³"], id="digits of another kind"),
    ],
)
def test_names_that_count_up_are_one_range(names: list[str], folded: list[str]) -> None:
    assert ranges.folded(names) == folded


@given(st.lists(st.from_regex(r"[a-c]{0,2}[0-9]{1,3}[x.]?[0-9]?", fullmatch=True), unique=True))
def test_what_is_folded_means_the_same_names(names: list[str]) -> None:
    back = [name for each in ranges.folded(names) for name in ranges.expanded(each)]
    assert sorted(back) == sorted(names)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("minipc", ["minipc"], id="none"),
        pytest.param("b[1:3]", ["b1", "b2", "b3"], id="numbers"),
        pytest.param("b[08:10].x", ["b08.x", "b09.x", "b10.x"], id="with zeros"),
        pytest.param("b[:1]", ["b0", "b1"], id="from zero"),
        pytest.param("b[1:6:2]", ["b1", "b3", "b5"], id="by a step"),
        pytest.param("db-[a:c]", ["db-a", "db-b", "db-c"], id="letters"),
        pytest.param("r[1:2]-[a:b]", ["r1-a", "r1-b", "r2-a", "r2-b"], id="two"),
        pytest.param("b[ab]", ["b[ab]"], id="a pattern is none"),
    ],
)
def test_a_range_means_its_names(text: str, names: list[str]) -> None:
    assert ranges.expanded(text) == names


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("b[3:1]", "counts down"),
        ("b[c:a]", "counts down"),
        ("b[01:100]", "as many digits"),
        ("b[1:2:0]", "no end"),
        ("b[1:99999999999]", "more than 10000"),
        ("b[0:999][0:999]", "more than 10000"),
    ],
)
def test_a_range_that_means_no_names_says_why(text: str, why: str) -> None:
    with pytest.raises(RangeError, match=why):
        ranges.expanded(text)
