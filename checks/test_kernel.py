"""The kernel role: one question, one check."""

from collections.abc import Callable

Holds = Callable[[str], None]


def test_gtt_size(holds: Holds) -> None:
    holds("kernel.gtt")


def test_iommu(holds: Holds) -> None:
    holds("kernel.iommu")


def test_lockup_timeout(holds: Holds) -> None:
    holds("kernel.lockup_timeout")


def test_kernel_arguments(holds: Holds) -> None:
    holds("kernel.arguments")


def test_drop_in_is_read_last(holds: Holds) -> None:
    holds("kernel.drop_in")


def test_kernel_has_gpu_modules(holds: Holds) -> None:
    holds("kernel.modules")


def test_nothing_waits_for_a_reboot(holds: Holds) -> None:
    holds("kernel.current")
