"""The vulkan role: one question, one check."""

from collections.abc import Callable

Holds = Callable[[str], None]


def test_vulkan_packages_are_installed(holds: Holds) -> None:
    holds("vulkan.packages")


def test_gpu_firmware(holds: Holds) -> None:
    holds("vulkan.firmware")


def test_users_are_in_groups(holds: Holds) -> None:
    holds("vulkan.groups")


def test_device_nodes(holds: Holds) -> None:
    holds("vulkan.nodes")


def test_radv_device(holds: Holds) -> None:
    holds("vulkan.device")
