"""The mirror role: one question, one check."""

from collections.abc import Callable

Holds = Callable[[str], None]


def test_mirror_serves(holds: Holds) -> None:
    holds("mirror.serving")
