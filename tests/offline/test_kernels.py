"""What each kernel version makes of the parameters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost import kernels
from apuhost.kernels import LockupTimeoutError, RingTimeouts

OLD = "6.12.117+deb13-amd64"
LEVEL = "6.17.0-42-generic"
SHORT = "7.0.0-44-generic"


@pytest.mark.parametrize(
    ("release", "version"),
    [
        (OLD, (6, 12)),
        (LEVEL, (6, 17)),
        (SHORT, (7, 0)),
        ("7.2.13", (7, 2)),
        ("", (0, 0)),
        ("unknown", (0, 0)),
        ("6", (0, 0)),
        ("٦.١٢", (0, 0)),
        ("9" * 5000 + ".1", (0, 0)),
    ],
)
def test_a_release_is_ordered_by_major_and_minor(release: str, version: tuple[int, int]) -> None:
    assert kernels.version(release) == version


@pytest.mark.parametrize(
    ("text", "release", "rings"),
    [
        pytest.param(None, OLD, (10000, 60000, 10000, 10000), id="6.12: not set"),
        pytest.param(None, "6.14.0-37", (10000, 60000, 10000, 10000), id="6.14: not set"),
        pytest.param(None, LEVEL, (10000, 10000, 10000, 10000), id="6.17: not set"),
        pytest.param(None, SHORT, (2000, 2000, 2000, 2000), id="7.0: not set"),
        pytest.param("", "7.2.13", (2000, 2000, 2000, 2000), id="7.2: as /sys shows not set"),
        pytest.param("10000", OLD, (10000, 60000, 10000, 10000), id="6.12: one, not Compute"),
        pytest.param("20000", LEVEL, (20000, 10000, 20000, 20000), id="6.17: one, not Compute"),
        pytest.param("10000", SHORT, (10000, 10000, 10000, 10000), id="7.0: one is all four"),
        pytest.param("-1", OLD, (-1, 60000, -1, -1), id="6.12: no watchdog but Compute's"),
        pytest.param("-1", SHORT, (-1, -1, -1, -1), id="7.0: no watchdog"),
        pytest.param("0", SHORT, (2000, 2000, 2000, 2000), id="0 keeps the default"),
        pytest.param("1,2,3,4", OLD, (1, 2, 3, 4), id="four, on every kernel"),
        pytest.param("1,2,3,4", SHORT, (1, 2, 3, 4), id="four, on the newest"),
        pytest.param("1,0,3,0", OLD, (1, 60000, 3, 10000), id="four, with kept ones"),
        pytest.param("1,2", OLD, (1, 2, 10000, 10000), id="two: the rest keeps its default"),
    ],
)
def test_each_ring_gets_what_this_kernel_gives_it(
    text: str | None, release: str, rings: tuple[int, int, int, int]
) -> None:
    assert kernels.ring_timeouts(text, release).values() == rings


@pytest.mark.parametrize(
    "text",
    [
        "10s",
        "10 000",
        "1,2,3,4,5",
        "1,,3,4",
        ",",
        "1.5",
        "\u0661\u0660",
        "010000",
        "-0",
        "--1",
        "9" * 5000,
    ],
)
def test_what_the_driver_would_refuse_is_an_error(text: str) -> None:
    with pytest.raises(LockupTimeoutError):
        kernels.ring_timeouts(text, SHORT)


@pytest.mark.parametrize(
    ("rings", "words"),
    [
        (RingTimeouts(2000, 2000, 2000, 2000), ("2000 ms",)),
        (RingTimeouts(10000, 60000, 10000, 10000), ("Compute 60000 ms", "10000 ms", "GFX")),
    ],
)
def test_ring_timeouts_are_said_with_their_unit(rings: RingTimeouts, words: tuple[str]) -> None:
    assert all(word in str(rings) for word in words)


@pytest.mark.parametrize(
    ("key", "wanted", "found", "release", "same"),
    [
        pytest.param("quiet", None, None, OLD, True, id="bare flags"),
        pytest.param("a", "", None, OLD, False, id="empty is not bare"),
        pytest.param("ttm.pages_limit", "12582912", "0xC00000", OLD, True, id="hexadecimal"),
        pytest.param("ttm.pages_limit", "8", "010", OLD, True, id="octal"),
        pytest.param("ttm.pages_limit", "12582912", "12_582_912", OLD, False, id="underscores"),
        pytest.param("ttm.pages_limit", "12582912", "12582912 ", OLD, False, id="a blank"),
        pytest.param("ttm.pages_limit", "12582912", "48G", OLD, False, id="not a number"),
        pytest.param("ttm.pages_limit", "12582912", "8126464", OLD, False, id="another number"),
        pytest.param("amd_iommu", "off", "fullflush,off", OLD, True, id="off among others"),
        pytest.param("amd_iommu", "off", "fullflush", OLD, False, id="not off"),
        pytest.param("iommu", "pt", "soft", OLD, False, id="another choice"),
        pytest.param(
            "amdgpu.lockup_timeout",
            "10000",
            "10000,60000,10000,10000",
            OLD,
            True,
            id="6.12: one number is these four",
        ),
        pytest.param(
            "amdgpu.lockup_timeout",
            "10000",
            "10000,10000,10000,10000",
            OLD,
            False,
            id="6.12: Compute differs",
        ),
        pytest.param(
            "amdgpu.lockup_timeout",
            "10000",
            "10000,10000,10000,10000",
            SHORT,
            True,
            id="7.0: one number is all four",
        ),
        pytest.param("amdgpu.lockup_timeout", "10000", "", LEVEL, True, id="6.17: the default"),
        pytest.param("amdgpu.lockup_timeout", "10000", "", SHORT, False, id="7.0: unset is 2 s"),
        pytest.param("amdgpu.lockup_timeout", "10000", "10s", SHORT, False, id="refused"),
    ],
)
def test_values_are_compared_by_what_the_kernel_makes_of_them(
    key: str, wanted: str | None, found: str | None, release: str, same: bool
) -> None:
    assert kernels.same_meaning(key, wanted, found, release) is same


@given(
    st.sampled_from(["ttm.pages_limit", "amdgpu.lockup_timeout", "amd_iommu", "other"]),
    st.none() | st.text(),
    st.none() | st.text(),
    st.text(),
)
def test_no_value_of_a_host_is_an_error(
    key: str, wanted: str | None, found: str | None, release: str
) -> None:
    assert kernels.same_meaning(key, wanted, found, release) in (True, False)
