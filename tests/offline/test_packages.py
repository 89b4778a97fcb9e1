"""Which packages dpkg says are installed, and which it left half-way."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, packages

LINES = (
    "native amd64\n"
    "ii |bash|5.2.37-2+b5|amd64\n"
    "hi |linux-firmware|20240318.git3b128b60-0ubuntu2|all\n"
    "ii |libc6|2.41-12|amd64\n"
    "ii |libc6|2.41-11|i386\n"
    "rc |old-kernel|6.1|amd64\n"
    "un |docker||\n"
)


def test_installed_held_and_foreign_packages() -> None:
    assert packages.parse(LINES + "end\n") == packages.Packages(
        installed={
            "bash": "5.2.37-2+b5",
            "linux-firmware": "20240318.git3b128b60-0ubuntu2",
            "libc6": "2.41-12",
            "libc6:i386": "2.41-11",
        },
        broken=(),
    )


@pytest.mark.parametrize(
    "status",
    [
        pytest.param("iH ", id="half-installed"),
        pytest.param("iU ", id="unpacked"),
        pytest.param("iF ", id="half-configured"),
        pytest.param("iW ", id="triggers awaited"),
        pytest.param("it ", id="triggers pending"),
        pytest.param("iiR", id="to be reinstalled"),
    ],
)
def test_what_dpkg_left_half_way_is_not_installed(status: str) -> None:
    read = packages.parse(f"{LINES}{status}|docker.io|26.1.5|amd64\nend")
    assert read.broken == ("docker.io",)
    assert "docker.io" not in read.installed


def test_a_removal_that_is_only_asked_for_has_not_happened() -> None:
    assert packages.parse("native amd64\nri |grub-pc|2.12|amd64\nend\n").installed == {
        "grub-pc": "2.12"
    }


def test_lines_of_another_form_are_passed_over() -> None:
    text = "native amd64\nii |a b|1|all\nii|c|1|all\nnoise\nii |d|1|all\nend\n"
    assert packages.parse(text).installed == {"d": "1"}


@pytest.mark.parametrize("text", ["", "end of story", "native amd64\n", LINES, LINES + "en"])
def test_a_list_without_its_end_is_not_read(text: str) -> None:
    with pytest.raises(ParseError, match="to the end"):
        packages.parse(text)


@given(st.text() | st.text().map(lambda text: f"native amd64\nii |{text}|1|all\nend\n"))
def test_no_text_raises_anything_but_parse_error(text: str) -> None:
    with suppress(ParseError):
        packages.parse(text)
