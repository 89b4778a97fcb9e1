"""Models that are adopted, kept, offered: what is due, and what must not be pulled."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from tests.support import stack
from tests.support.box import Box
from tests.support.deploying import ROLES, deploy
from tests.support.hosts import REFERENCE, host_facts, settings
from tests.support.stack import GIB, QWEN, Model

from apuhost.changes import fit, models, offer
from apuhost.changes.host import plan
from apuhost.derived import Derived, derive
from apuhost.host_facts import HostFacts
from apuhost.probes.model_manifest import parse
from apuhost.probes.model_store import Offer
from apuhost.settings.models import PinnedModel

KEPT = "it is here as its registry gave it"
UNPINNED = {**REFERENCE, "digest": ""}
PULLED = replace(QWEN, parameters=QWEN.offered)
MOVED = replace(PULLED, weights="newer")


def asked(model: dict[str, Any], **members: object) -> PinnedModel:
    return settings(models_list=[{**model, **members}]).models.models_list[0]


def store(*stored: Model, kept: Iterable[Model] = (), missing: Iterable[str] = ()) -> HostFacts:
    return host_facts(model_store=stack.model_store(*stored, kept=kept, missing=missing))


def actions(facts: HostFacts, model: dict[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """What is due for the model itself."""
    found = models.plan(derive(settings(models_list=[model]), facts), facts)
    return [(each.how, each.why) for each in found.actions if each.what != models.UNIT_NAME]


OURS = ("parameters set", ("num_batch 512", "draft_num_predict 2"))


# Adoption.


@pytest.mark.parametrize("kept", [(), (MOVED,)], ids=["nothing kept", "an older one kept"])
def test_a_manifest_of_the_pinned_digest_is_kept_and_no_registry_asked(
    kept: tuple[Model, ...],
) -> None:
    assert actions(store(PULLED, kept=kept), REFERENCE) == [("manifest kept", (KEPT,)), OURS]


def test_a_manifest_that_is_kept_already_is_not_kept_again() -> None:
    assert actions(store(PULLED, kept=[PULLED]), REFERENCE) == [OURS]


def test_a_pinned_model_whose_parameters_were_set_is_compared_with_its_registry() -> None:
    assert actions(store(QWEN), REFERENCE) == [
        ("compared with its registry", ("its registry's manifest is not kept",))
    ]


def test_a_part_that_is_missing_is_pulled_whatever_the_manifest() -> None:
    missing = [f"sha256-{stack.sha256('weights')}"]
    found = actions(store(PULLED, missing=missing), REFERENCE)
    assert found[0] == ("pulled", ("a part of it is missing",))


# Without a pin.


def test_an_unpinned_model_that_is_untouched_is_kept_with_the_line_to_paste() -> None:
    facts = store(MOVED, kept=[QWEN])
    assert actions(facts, UNPINNED) == [("manifest kept", (KEPT,)), OURS]
    notes = plan(settings(models_list=[UNPINNED]), facts).notes
    assert f'{QWEN.name} is not pinned: "digest": "{MOVED.digest}"' in notes


@pytest.mark.parametrize("kept", [(), (MOVED,)], ids=["nothing kept", "an older one kept"])
@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param(QWEN.parameters, id="ours set by hand"),
        pytest.param({**QWEN.parameters, "seed": 1}, id="others too"),
    ],
)
def test_an_unpinned_model_that_was_changed_is_left_and_has_no_digest_to_paste(
    parameters: dict[str, Any], kept: tuple[Model, ...]
) -> None:
    facts = store(replace(QWEN, parameters=parameters), kept=kept)
    assert actions(facts, UNPINNED) == []
    notes = plan(settings(models_list=[UNPINNED]), facts).notes
    assert f"{QWEN.name} is not pinned: {models.UNKNOWN}" in notes


def test_a_changed_model_is_known_by_its_layers_or_by_our_own_values() -> None:
    theirs = replace(QWEN, offered={"num_batch": 512}, parameters={"num_batch": 512})
    other = replace(QWEN, offered={"num_batch": 64}, parameters={"num_batch": 64})
    assert models.given(asked(UNPINNED), store(theirs)) is None
    assert models.given(asked(UNPINNED), store(other)) is not None
    changed = replace(QWEN, parameters={"top_k": 1})
    assert models.given(asked(UNPINNED), store(changed)) is None


@pytest.mark.parametrize("stored", [QWEN, PULLED])
def test_an_unpinned_model_that_was_deployed_keeps_what_its_registry_gave(stored: Model) -> None:
    facts = store(stored, kept=[QWEN])
    found = models.given(asked(UNPINNED), facts)
    assert found is not None
    assert found.digest == QWEN.digest
    assert models.pull(asked(UNPINNED), facts) == models.keep(asked(UNPINNED), facts) == ()


@pytest.mark.parametrize(
    ("model", "box"),
    [
        pytest.param(REFERENCE, Box(stored=(PULLED,), kept=()), id="pinned, by hand"),
        pytest.param(REFERENCE, Box(stored=(PULLED,), kept=(MOVED,)), id="pinned anew"),
        pytest.param(UNPINNED, Box(stored=(PULLED,), kept=()), id="by hand"),
        pytest.param(UNPINNED, Box(stored=(MOVED,), kept=(QWEN,)), id="pulled again by hand"),
        pytest.param(
            UNPINNED, Box(stored=(replace(MOVED, parameters={"seed": 1}),)), id="and changed"
        ),
    ],
)
def test_a_deploy_needs_no_registry_and_one_is_enough(model: dict[str, Any], box: Box) -> None:
    data = settings(kernel_gtt_gib=48, host_roles=list(ROLES), models_list=[model])
    assert not plan(data, box.facts()).empty
    nowhere = replace(QWEN, weights="of a registry that nobody asks")
    after = deploy(box, data, [nowhere])
    assert [model.weights for model in after.stored] == [model.weights for model in box.stored]
    again = plan(data, after.facts())
    assert again.roles == tuple(replace(each, files=(), actions=()) for each in again.roles)


# What a registry offers.


def offered(model: Model = QWEN, requires: str = "") -> Offer:
    manifest = parse(model.pulled)
    return Offer(manifest.digest, manifest.layers, manifest.config, model.offered, requires)


def derived(model: dict[str, Any], **data: object) -> Derived:
    return derive(settings(kernel_gtt_gib=48, models_list=[model], **data), host_facts())


def obstacles(
    model: dict[str, Any], given: Offer, facts: HostFacts, **data: object
) -> tuple[str, ...]:
    return offer.obstacles(asked(model), given, derived(model, **data), facts)


def test_what_is_pinned_and_fits_is_pulled() -> None:
    assert obstacles(REFERENCE, offered(), store()) == ()


def test_another_digest_is_told_with_both() -> None:
    (why,) = obstacles(REFERENCE, offered(MOVED), store())
    assert why == f"its registry has {MOVED.digest}, pinned is {QWEN.digest}"


def test_a_model_that_needs_a_newer_ollama_is_not_pulled() -> None:
    (why,) = obstacles(REFERENCE, offered(requires="99.0"), store())
    assert why.startswith("it needs Ollama 99.0, ollama_image is ")


def test_a_model_that_does_not_fit_is_refused_before_its_bytes_are_pulled() -> None:
    model = {**REFERENCE, "kv_bytes_per_token": 200_000}
    (why,) = obstacles(model, offered(), store())
    assert why == (
        "weights 22.0 GiB and KV cache 48.8 GiB do not fit into 48.0 GiB of GTT (262144 tokens): "
        "a smaller num_ctx or model, or a larger kernel_gtt_gib"
    )


def test_weights_alone_that_do_not_fit_are_refused() -> None:
    model = {name: value for name, value in REFERENCE.items() if name != "kv_bytes_per_token"}
    facts = store()
    small = derive(settings(kernel_gtt_gib=20, models_list=[model]), facts)
    (why,) = offer.obstacles(asked(model), offered(), small, facts)
    assert why.startswith("weights 22.0 GiB and KV cache 0.0 GiB do not fit into 20.0 GiB")
    assert offer.obstacles(asked(model), offered(), derived(model), facts) == ()


def test_what_is_here_is_not_refused_for_its_size() -> None:
    model = {**REFERENCE, "kv_bytes_per_token": 200_000}
    facts = store(QWEN)
    assert obstacles(model, offered(), facts) == ()
    assert any("do not fit" in note for note in fit.notes(asked(model), derived(model), facts))


def test_a_model_that_is_meant_for_the_cpu_need_not_fit() -> None:
    model = {**REFERENCE, "kv_bytes_per_token": 200_000, "parameters": {"num_gpu": 0}}
    assert obstacles(model, offered(), store()) == ()


def test_a_disk_that_is_too_small_is_told_with_its_numbers() -> None:
    text = stack.model_store().replace(str(100 * GIB), str(10 * GIB).rjust(12))
    (why,) = obstacles(REFERENCE, offered(), host_facts(model_store=text))
    assert why == "it needs 22529 MiB of disk, 10240 are free"


def test_a_tag_that_moved_is_not_pulled_over_an_unpinned_model() -> None:
    stray = replace(QWEN, parameters={**QWEN.parameters, "seed": 1})
    facts = store(stray, kept=[QWEN])
    assert models.pull(asked(UNPINNED), facts) == ("it has parameters that nobody asks for: seed",)
    assert obstacles(UNPINNED, offered(), facts) == ()
    (why,) = obstacles(UNPINNED, offered(MOVED), facts)
    assert "its tag is another model by now" in why


# Names that differ in case only.


def test_a_model_is_asked_for_and_kept_by_the_name_that_is_here() -> None:
    name = QWEN.name.upper()
    facts = store(QWEN, kept=[QWEN])
    assert models.pull(asked({**REFERENCE, "name": name}), facts) == ()
    registry, outside = "https://registry.ollama.ai/v2/library", derive(settings(), facts)
    manifest, blobs = offer.source(name, outside, facts)
    assert (manifest, blobs) == (
        f"{registry}/qwen3.6/manifests/35b-a3b",
        f"{registry}/qwen3.6/blobs/sha256:",
    )
    assert offer.source(name, outside, store())[0] == f"{registry}/QWEN3.6/manifests/35B-A3B"
    assert offer.kept_at(name, facts) == offer.kept_at(QWEN.name, facts)
