"""The ollama role: one question, one check."""

from collections.abc import Callable

Holds = Callable[[str], None]


def test_image_digest(holds: Holds) -> None:
    holds("ollama.image")


def test_container(holds: Holds) -> None:
    holds("ollama.container")


def test_environment(holds: Holds) -> None:
    holds("ollama.environment")


def test_exposure(holds: Holds) -> None:
    holds("ollama.exposure")


def test_api_answers(holds: Holds) -> None:
    holds("ollama.api")


def test_gpu_is_found(holds: Holds) -> None:
    holds("ollama.gpu")


def test_runner_arguments(holds: Holds) -> None:
    holds("ollama.runner")


def test_offload(holds: Holds) -> None:
    holds("ollama.offload")


def test_prompt_cache(holds: Holds) -> None:
    holds("ollama.prompt_cache")


def test_prefix_cache(holds: Holds) -> None:
    holds("ollama.prefix_cache")
