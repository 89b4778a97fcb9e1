"""The GPU itself: one question, one check."""

from collections.abc import Callable

Holds = Callable[[str], None]


def test_apu_is_there(holds: Holds) -> None:
    holds("gpu.device")


def test_gpu_driver(holds: Holds) -> None:
    holds("gpu.driver")


def test_gpu_had_no_trouble(holds: Holds) -> None:
    holds("gpu.health")


def test_kernel_and_firmware_are_not_known_to_hang(holds: Holds) -> None:
    holds("gpu.known_bad")
