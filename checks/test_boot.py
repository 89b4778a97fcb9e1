"""The boot role: one question, one check."""

from collections.abc import Callable

Holds = Callable[[str], None]


def test_boots_are_saved(holds: Holds) -> None:
    holds("boot.unit")


def test_every_boot_was_good(holds: Holds) -> None:
    holds("boot.reports")


def test_nothing_changed_unasked(holds: Holds) -> None:
    holds("boot.unchanged")
