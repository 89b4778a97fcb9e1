"""The GPU itself: one question, one check."""

from collections.abc import Callable


def test_gpu_driver(holds: Callable[[str], None]) -> None:
    holds("gpu.driver")
