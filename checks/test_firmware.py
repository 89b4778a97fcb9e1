"""The firmware (BIOS) setup, as far as Linux can tell: one question, one check."""

from collections.abc import Callable

Holds = Callable[[str], None]


def test_uma_frame_buffer(holds: Holds) -> None:
    holds("firmware.uma")


def test_svm(holds: Holds) -> None:
    holds("firmware.svm")


def test_memory_speed(holds: Holds) -> None:
    holds("firmware.memory")
