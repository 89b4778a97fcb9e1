"""The GPU's device nodes and their owners."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import nodes
from apuhost.probes.nodes import Node

LINES = (
    "node 660 0 44 video /dev/dri/card1\n"
    "node 660 0 992 render /dev/dri/renderD128\n"
    "node 666 0 992 render /dev/dri/renderD129\n"
    "node 660 0 991 UNKNOWN /dev/kfd\n"
)


def test_nodes_with_modes_and_owners() -> None:
    read = nodes.parse(LINES)
    assert len(read.nodes) == 4
    assert read.render == Node("/dev/dri/renderD128", 0o660, 0, 992, "render")
    assert read.kfd == Node("/dev/kfd", 0o660, 0, 991, "UNKNOWN")


def test_a_host_without_a_gpu_driver_has_none() -> None:
    read = nodes.parse("")
    assert (read.nodes, read.render, read.kfd) == ((), None, None)


@pytest.mark.parametrize(
    "line",
    [
        "node 980 0 44 video /dev/dri/card0",
        "node 660 0 44 video",
        "660 0 44 video /dev/dri/card0",
        "node 660 0 " + "9" * 5000 + " video /dev/dri/card0",
    ],
)
def test_a_line_of_another_form_is_no_node(line: str) -> None:
    assert nodes.parse(line).nodes == ()


@given(st.text() | st.text().map(lambda text: f"node 660 0 0 {text} /dev/kfd"))
def test_no_text_raises(text: str) -> None:
    assert all(node.path.startswith("/dev/") for node in nodes.parse(text).nodes)
