"""What all tests share: the tiers."""

from pathlib import Path

import pytest

TIERS = ("service", "vm")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test's folder is its tier; vm tests come last, since each changes the machine."""
    for item in items:
        tier = Path(item.path).parent.name
        if tier in TIERS:
            item.add_marker(tier)
    items.sort(
        key=lambda item: (
            [*("", *TIERS)].index(Path(item.path).parent.name)
            if Path(item.path).parent.name in TIERS
            else 0
        )
    )
