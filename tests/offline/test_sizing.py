"""GTT arithmetic: the figures of real hosts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost import sizing
from apuhost.sizing import KIB_PER_GIB, LEAST_SYSTEM_GIB, SMALL_MEMORY_GIB

KIB = st.integers(1, 4096 * KIB_PER_GIB)


@pytest.mark.parametrize(
    ("gib", "pages"),
    [
        (24, 6291456),
        (31, 8126464),
        (48, 12582912),
        (56, 14680064),
        (80, 20971520),
        (96, 25165824),
        (108, 28311552),
        (128, 33554432),
    ],
)
def test_pages_limit_counts_pages_of_4_kib(gib: int, pages: int) -> None:
    assert sizing.pages_limit(gib) == pages
    assert sizing.gtt_gib(pages) == gib


@pytest.mark.parametrize(
    ("mem_total_gib", "gtt"),
    [
        pytest.param(13.5, None, id="16 GiB box"),
        pytest.param(29.9, None, id="just under 30: the kernel's default"),
        pytest.param(30, 16, id="just at 30"),
        pytest.param(31, 16, id="32 GiB box"),
        pytest.param(60, 48, id="64 GiB box, 4 GiB carved out"),
        pytest.param(62.7, 48, id="64 GiB reference host"),
        pytest.param(64, 52, id="64 GiB of MemTotal itself"),
        pytest.param(92, 80, id="96 GiB box"),
        pytest.param(125, 108, id="128 GiB box"),
    ],
)
def test_auto_leaves_the_system_what_it_needs(mem_total_gib: float, gtt: int | None) -> None:
    assert sizing.automatic_gtt_gib(int(mem_total_gib * KIB_PER_GIB)) == gtt


@given(KIB)
def test_auto_is_never_less_than_half_and_never_refused(mem_total_kib: int) -> None:
    gtt = sizing.automatic_gtt_gib(mem_total_kib)
    if gtt is None:
        assert mem_total_kib < SMALL_MEMORY_GIB * KIB_PER_GIB
    else:
        assert gtt >= mem_total_kib // (2 * KIB_PER_GIB)
        assert sizing.system_gib(mem_total_kib, gtt) >= LEAST_SYSTEM_GIB


def test_what_stays_with_the_system() -> None:
    assert sizing.system_gib(63 * KIB_PER_GIB, 48) == 15
    assert sizing.system_gib(63 * KIB_PER_GIB, 64) == -1
