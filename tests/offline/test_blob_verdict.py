"""models.blob: another tag on a model's weights is named where the two reload each other."""

from typing import Any

import pytest
from tests.support import stack
from tests.support.hosts import REFERENCE, host_facts
from tests.support.stack import QWEN, Model
from tests.support.verdicts import failing, verdict

from apuhost.host_facts import HostFacts
from apuhost.verdicts import Layer, Severity, Status, Verdict

LATEST = "qwen3.6:latest"
BLOB = f"sha256-{stack.sha256('weights')}"


def beside(*others: Model, missing: tuple[str, ...] = ()) -> HostFacts:
    """The reference host with other tags in its store."""
    return host_facts(model_store=stack.model_store(QWEN, *others, missing=missing))


def tag(**changes: Any) -> Model:  # noqa: ANN401
    """A tag on the reference model's weights, with other parameters; None takes one out."""
    parameters = {**QWEN.parameters, **changes}
    kept = {name: value for name, value in parameters.items() if value is not None}
    return Model(name=LATEST, parameters=kept)


def told(facts: HostFacts, **data: object) -> Verdict:
    return verdict(facts, "models.blob", **data)


@pytest.mark.parametrize(
    ("name", "there", "words"),
    [
        ("num_ctx", 4096, "num_ctx 4096 instead of not set"),
        ("num_batch", 2048, "num_batch 2048 instead of 512"),
        ("num_batch", None, "num_batch not set instead of 512"),
        ("num_gpu", 0, "num_gpu 0 instead of not set"),
        ("num_thread", 4, "num_thread 4 instead of 0"),
        ("use_mmap", False, "use_mmap false instead of not set"),
        ("main_gpu", 1, "main_gpu 1 instead of not set"),
        ("draft_num_predict", 3, "draft_num_predict 3 instead of 2"),
        ("draft_num_predict", None, "draft_num_predict 0 instead of 2"),
    ],
)
def test_a_tag_that_runs_the_weights_otherwise_is_named_with_both_values(
    name: str, there: object, words: str
) -> None:
    found = told(beside(tag(**{name: there})))
    assert failing(found) == (Status.FAIL, Layer.CONFIGURED)
    assert found.severity is Severity.RECOMMENDED
    assert found.observed == f"{QWEN.name}: {LATEST}: the same weights, {words}"
    assert found.evidence.endswith(
        f"qwen3.6/latest has {BLOB.replace('-', ':', 1)}, " + (words.partition(" instead of")[0])
    )
    assert found.fix == f"docker exec ollama ollama rm {LATEST}"


def test_another_projector_is_another_runner() -> None:
    other = Model(name=LATEST, projector="")
    found = told(beside(other))
    digest = f"sha256:{stack.sha256('projector')}"
    assert found.observed.endswith(f"the same weights, projector none instead of {digest}")


@pytest.mark.parametrize(
    "same",
    [
        pytest.param({}, id="all"),
        pytest.param({"num_gpu": -1}, id="as many layers as fit, asked or not"),
        pytest.param({"num_thread": 0}, id="Ollama's own default"),
        pytest.param({"num_batch": 512.0}, id="a number of JSON's"),
        pytest.param({"temperature": 0.1, "num_keep": 9}, id="what goes with each request"),
    ],
)
def test_the_same_parameters_share_a_runner(same: dict[str, object]) -> None:
    found = told(beside(tag(**same)))
    assert (found.status, found.observed) == (
        Status.PASS,
        f"{QWEN.name}: {LATEST}: the same weights, which it does not load anew",
    )


def test_a_tag_without_a_num_gpu_takes_the_layers_that_run() -> None:
    """A number beside none loads anew, none beside a number does not (needsReload)."""
    asked = [{"name": LATEST, "parameters": {"num_gpu": 20}}]
    found = told(beside(tag(num_gpu=20)), models_list=asked)
    assert found.status is Status.PASS
    assert told(beside(tag(num_gpu=20))).observed.endswith("num_gpu 20 instead of not set")


def test_the_servers_own_context_is_a_tags_where_it_has_none() -> None:
    data = {"ollama_context_length": 8192}
    assert told(beside(tag(num_ctx=8192)), **data).status is Status.PASS
    assert told(beside(tag(num_ctx=4096)), **data).observed.endswith("num_ctx 4096 instead of 8192")


def test_a_tag_on_other_weights_is_no_matter() -> None:
    found = told(beside(Model(name=LATEST, weights="other weights", parameters={})))
    assert (found.status, found.observed) == (
        Status.PASS,
        f"{QWEN.name}: no other tag has its weights",
    )


def test_of_several_tags_the_first_that_differs_is_named() -> None:
    third = Model(name="mine/x:1", parameters={"num_batch": 256})
    found = told(beside(tag(), tag(num_batch=128), third))
    assert "(the first of 2 that differ)" in found.observed


def test_two_models_of_the_inventory_are_given_one_value_there() -> None:
    asked = [REFERENCE, {"name": LATEST, "parameters": {"num_batch": 2048}}]
    found = told(beside(tag(num_batch=2048)), models_list=asked)
    assert found.fix == (
        "write one num_batch for both into models_list, then apuhost deploy INVENTORY"
    )
    files = told(beside(Model(name=LATEST, projector="")), models_list=asked)
    assert files.fix == (
        f"take {LATEST} out of models_list, then docker exec ollama ollama rm {LATEST}"
    )


def test_a_name_that_a_shell_would_run_is_quoted() -> None:
    found = told(beside(Model(name="a b$(x):1", parameters={})))
    assert found.fix == "docker exec ollama ollama rm 'a b$(x):1'"


def test_a_tag_whose_parameters_cannot_be_read_is_unknown() -> None:
    other = tag(num_batch=64)
    lost = f"sha256-{stack.sha256(stack.options(other.parameters))}"
    found = told(beside(other, missing=(lost,)))
    assert found.status is Status.UNKNOWN
    assert "qwen3.6/latest: its parameters" in found.reason


def test_a_model_that_is_not_here_is_unknown() -> None:
    found = told(host_facts(model_store=stack.model_store()))
    assert (found.status, "(models.pinned)" in found.reason) == (Status.UNKNOWN, True)
