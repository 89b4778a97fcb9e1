"""Mesa in Ollama's container: what its list says, and why it could not be read."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import stack

from apuhost.probes import ParseError
from apuhost.probes.container_packages import ContainerPackages, parse


def test_its_packages() -> None:
    assert parse(stack.container_packages("25.2.8")).installed == {
        "libvulkan1": "1.3.275.0-1build1",
        "mesa-vulkan-drivers": "25.2.8",
    }


def test_a_container_without_mesa_and_no_container() -> None:
    assert parse("end\n") == ContainerPackages({})
    assert parse("absent\n") == ContainerPackages(None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("refused docker does not answer\n", "docker does not answer"),
        ("refused Ollama's container does not run\n", "does not run"),
        ("", "not listed to the end"),
        ("package mesa-vulkan-drivers 25.2.8\n", "not listed to the end"),
        ("package mesa-vulkan-drivers 25.2.8\nen", "not listed to the end"),
    ],
)
def test_what_was_not_read_says_why(text: str, why: str) -> None:
    with pytest.raises(ParseError, match=why):
        parse(text)


def test_foreign_lines_are_passed_over() -> None:
    text = "package\npackage a b c\npackage $(x) 1\nabsent\npackage mesa-va-drivers 1:2~3\nend\n"
    assert parse(text).installed == {"mesa-va-drivers": "1:2~3"}


@pytest.mark.parametrize("version", ["1" * 81, "1\x1b[2J", "1\u202e2", "1 2", ""])
def test_a_version_that_no_package_has_is_left_out(version: str) -> None:
    text = f"package mesa-vulkan-drivers {version}\npackage libvulkan1 {'1' * 80}\nend\n"
    assert parse(text).installed == {"libvulkan1": "1" * 80}


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ParseError):
        parse(text)
    with suppress(ParseError):
        parse(f"{text}\nend\n")
