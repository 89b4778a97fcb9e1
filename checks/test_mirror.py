"""The mirror role: one question, one check."""

from collections.abc import Callable

Holds = Callable[[str], None]


def test_mirror_serves(holds: Holds) -> None:
    holds("mirror.serving")


def test_registry(holds: Holds) -> None:
    holds("mirror.registry")


def test_fallback(holds: Holds) -> None:
    holds("mirror.fallback")


def test_packages(holds: Holds) -> None:
    holds("mirror.apt")


def test_models(holds: Holds) -> None:
    holds("mirror.models")


def test_clock(holds: Holds) -> None:
    holds("mirror.clock")


def test_serial(holds: Holds) -> None:
    holds("mirror.serial")
