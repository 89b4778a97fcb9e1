"""The models role: one question, one check."""

from collections.abc import Callable

Holds = Callable[[str], None]


def test_models_are_pinned(holds: Holds) -> None:
    holds("models.pinned")


def test_ollama_is_new_enough(holds: Holds) -> None:
    holds("models.requires")


def test_parameters(holds: Holds) -> None:
    holds("models.parameters")


def test_no_tag_reloads_anothers_weights(holds: Holds) -> None:
    holds("models.blob")


def test_models_are_loaded(holds: Holds) -> None:
    holds("models.loaded")


def test_preload_unit(holds: Holds) -> None:
    holds("models.preload")


def test_a_token_is_generated(holds: Holds) -> None:
    holds("models.generation")
