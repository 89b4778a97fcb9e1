"""The docker role: one question, one check."""

from collections.abc import Callable

Holds = Callable[[str], None]


def test_engine_answers(holds: Holds) -> None:
    holds("docker.engine")


def test_daemon_json(holds: Holds) -> None:
    holds("docker.daemon_json")


def test_proxy_and_certificates(holds: Holds) -> None:
    holds("docker.network")
