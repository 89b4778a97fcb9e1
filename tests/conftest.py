"""What all tests share: the tiers."""

from pathlib import Path

import pytest

TIERS = ("service", "vm")


@pytest.fixture(autouse=True)
def no_last_report(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was seen in one test is not compared with in another, nor by who runs the tests."""
    monkeypatch.setenv("APUHOST_STATE", str(tmp_path_factory.mktemp("state")))


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
