"""The models' verdicts: each fault at the first layer that differs, with what to type."""

from typing import Any

import pytest
from tests.support import stack
from tests.support.hosts import REFERENCE, host_facts, settings, unit_files
from tests.support.stack import QWEN, Model, reply
from tests.support.verdicts import HEALTHY, also, failing, unread, verdict

from apuhost.changes.models import PROGRAM, UNIT
from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.verdicts import Layer, Severity, Status, Verdict, models
from apuhost.verdicts.generation import generation

CONFIGURED, _, LIVE, EFFECTIVE = Layer
DEPLOY = "apuhost deploy INVENTORY"
AGAIN = "systemctl restart apuhost-models.service"
OTHER = Model(weights="other weights")
BARE = {"name": QWEN.name, "parameters": REFERENCE["parameters"], "preload": True}
BLOB = f"sha256-{stack.sha256('weights')}"


@pytest.mark.parametrize("verdict_id", models.IDS)
def test_a_healthy_host_passes(verdict_id: str) -> None:
    found = verdict(HEALTHY, verdict_id)
    warns = verdict_id == "models.blob"
    severity = Severity.RECOMMENDED if warns else Severity.REQUIRED
    assert (found.status, found.severity) == (Status.PASS, severity)


def stored(*held: Model, **changes: Any) -> HostFacts:  # noqa: ANN401
    """A host with these models in the store; `kept` and `missing` as in `stack.model_store`."""
    return host_facts(
        model_store=stack.model_store(*held, **changes),
        ollama_api=stack.ollama_api(*map(stack.loaded, held), models=held),
    )


@pytest.mark.parametrize(
    ("facts", "layer", "observed"),
    [
        pytest.param(stored(), CONFIGURED, "it is not here", id="no model"),
        pytest.param(
            stored(QWEN, missing=[BLOB]), CONFIGURED, "a part of it is missing", id="a blob gone"
        ),
        pytest.param(
            stored(OTHER, kept=[QWEN]), CONFIGURED, "another model lies", id="tag pulled again"
        ),
        pytest.param(
            stored(OTHER), CONFIGURED, f"pinned is {QWEN.digest[:12]}", id="another was pulled"
        ),
        pytest.param(
            stored(QWEN, kept=[]), CONFIGURED, "is not known", id="changed, and nothing kept"
        ),
        pytest.param(
            host_facts(ollama_api=stack.ollama_api(models=[])),
            EFFECTIVE,
            "does not list it",
            id="the server has another store",
        ),
        pytest.param(
            host_facts(ollama_api=stack.ollama_api(models=[OTHER])),
            EFFECTIVE,
            "lists another one",
            id="the server has another model",
        ),
    ],
)
def test_a_model_that_is_not_the_pinned_one(facts: HostFacts, layer: Layer, observed: str) -> None:
    found = verdict(facts, "models.pinned")
    assert failing(found) == (Status.FAIL, layer)
    assert found.severity is Severity.REQUIRED
    assert f"{QWEN.name}: " in found.observed
    assert observed in found.observed
    assert found.evidence
    assert found.fix


def test_a_model_that_somebody_else_pulled_is_as_good_while_it_is_untouched() -> None:
    untouched = Model(parameters=QWEN.offered)
    assert verdict(stored(untouched, kept=[]), "models.pinned").status is Status.PASS


def test_a_model_without_a_digest_is_worth_a_word_with_the_line_to_paste() -> None:
    found = verdict(HEALTHY, "models.pinned", models_list=[BARE])
    assert (found.status, found.severity) == (Status.FAIL, Severity.RECOMMENDED)
    assert found.observed == f"{QWEN.name}: not pinned"
    assert found.fix == f'write "digest": "{QWEN.digest}"'
    wrong = verdict(stored(), "models.pinned", models_list=[BARE])
    assert (wrong.status, wrong.severity) == (Status.FAIL, Severity.REQUIRED)


def test_a_model_without_a_digest_is_what_is_here() -> None:
    """Whatever its tag is by now, and whatever was kept of an earlier one."""
    pulled = Model(weights="other weights", parameters=QWEN.offered)
    found = verdict(stored(pulled, kept=[QWEN]), "models.pinned", models_list=[BARE])
    assert (found.status, found.severity) == (Status.FAIL, Severity.RECOMMENDED)
    assert found.fix == f'write "digest": "{pulled.digest}"'
    changed = verdict(stored(OTHER, kept=[QWEN]), "models.pinned", models_list=[BARE])
    assert (changed.status, changed.severity) == (Status.FAIL, Severity.RECOMMENDED)
    assert changed.fix == f"docker exec ollama ollama pull {QWEN.name}, then deploy"


def test_a_pin_that_moves_to_what_was_just_pulled_holds() -> None:
    pulled = Model(weights="other weights", parameters=QWEN.offered)
    asked = [{**BARE, "digest": pulled.digest}]
    found = verdict(stored(pulled, kept=[QWEN]), "models.pinned", models_list=asked)
    assert found.status is Status.PASS


def test_of_several_models_the_first_that_differs_is_named() -> None:
    asked = [REFERENCE, {"name": "a:1"}, {"name": "b:1"}]
    found = verdict(HEALTHY, "models.pinned", models_list=asked)
    assert found.observed == "a:1: it is not here (the first of 2 that differ)"


@pytest.mark.parametrize(
    ("held", "observed"),
    [
        pytest.param(
            Model(parameters=stack.without(QWEN.parameters, "num_batch")),
            "num_batch is not set, not 512",
            id="num_batch dropped by a pull of the tag",
        ),
        pytest.param(
            Model(parameters={**QWEN.parameters, "num_batch": 2048}),
            "num_batch is 2048, not 512",
            id="another value",
        ),
        pytest.param(
            Model(parameters={**QWEN.parameters, "temperature": 0.2}),
            "temperature is 0.2, not 1",
            id="another value than its registry's",
        ),
        pytest.param(
            Model(parameters={**QWEN.parameters, "num_ctx": 4096}),
            "num_ctx is 4096, and nobody asked",
            id="one that nobody asked for",
        ),
    ],
)
def test_parameters_that_are_not_as_asked(held: Model, observed: str) -> None:
    found = verdict(stored(held), "models.parameters")
    assert failing(found) == (Status.FAIL, CONFIGURED)
    assert found.observed == f"{QWEN.name}: {observed}"
    assert found.fix == DEPLOY
    assert verdict(stored(held), "models.pinned").status is Status.PASS


def test_parameters_set_by_hand_before_apuhost_came_are_left_alone() -> None:
    held = Model(parameters={**QWEN.parameters, "num_ctx": 4096})
    assert verdict(stored(held, kept=[]), "models.parameters").status is Status.PASS


def test_a_model_that_is_not_here_has_unknown_parameters() -> None:
    assert verdict(stored(), "models.parameters").status is Status.UNKNOWN


SOON = "2026-11-29T09:19:00Z"


def held(*in_memory: dict[str, Any]) -> HostFacts:
    return host_facts(ollama_api=stack.ollama_api(*in_memory))


@pytest.mark.parametrize(
    ("facts", "asked", "status", "told"),
    [
        pytest.param(held(), {}, Status.FAIL, "it is not loaded", id="unloaded"),
        pytest.param(
            held(stack.loaded(OTHER, name="x:1")), {}, Status.FAIL, "not loaded", id="another"
        ),
        pytest.param(
            held(stack.loaded(digest=stack.sha256("older"))),
            {},
            Status.FAIL,
            "as it was before it was changed",
            id="changed since it was loaded",
        ),
        pytest.param(
            held(stack.loaded(expires_at=SOON)),
            {},
            Status.FAIL,
            f"it goes at {SOON}",
            id="a client gave it five minutes",
        ),
        pytest.param(
            held(stack.loaded(expires_at=SOON)),
            {"ollama_keep_alive": "24h"},
            Status.PASS,
            SOON,
            id="for as long as asked",
        ),
        pytest.param(
            held(stack.loaded(name=QWEN.name.upper())), {}, Status.PASS, "for good", id="its case"
        ),
    ],
)
def test_a_model_is_loaded_and_stays(
    facts: HostFacts, asked: dict[str, Any], status: Status, told: str
) -> None:
    found = verdict(facts, "models.loaded", **asked)
    assert found.status is status
    assert told in found.observed
    if status is Status.FAIL:
        assert (found.layer, found.fix) == (EFFECTIVE, AGAIN)


@pytest.mark.parametrize(
    ("verdict_id", "in_memory"),
    [("models.loaded", []), ("ollama.runner", [stack.loaded(context_length=4096)])],
)
def test_a_unit_that_is_not_there_is_not_told_to_be_started(
    verdict_id: str, in_memory: list[dict[str, Any]]
) -> None:
    files = {path: text for path, text in unit_files().items() if "models" not in path}
    facts = host_facts(ollama_api=stack.ollama_api(*in_memory), units=stack.units(files))
    found = verdict(facts, verdict_id, ollama_context_length=262144)
    assert (found.status, found.fix) == (Status.FAIL, "apuhost deploy INVENTORY")


COPY = Model(name="copy:1")
BOTH = [REFERENCE, {**REFERENCE, "name": COPY.name}]


def under_one_name(loaded: dict[str, Any], *, beside: Model = COPY) -> HostFacts:
    """A host whose two tags have one blob of weights: Ollama names one of them."""
    return host_facts(
        model_store=stack.model_store(QWEN, beside),
        ollama_api=stack.ollama_api(loaded, models=[QWEN, beside]),
    )


@pytest.mark.parametrize("verdict_id", ["models.loaded", "ollama.offload", "ollama.runner"])
def test_a_tag_whose_runner_another_tag_started_is_loaded(verdict_id: str) -> None:
    found = verdict(under_one_name(stack.loaded(COPY)), verdict_id, models_list=BOTH)
    assert found.status is Status.PASS
    if verdict_id == "models.loaded":
        assert found.observed == f"{QWEN.name}: loaded as {COPY.name} for good (and 1 more)"


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        pytest.param(
            under_one_name(stack.loaded(COPY, digest="0" * 64)), "not loaded", id="changed since"
        ),
        pytest.param(
            under_one_name(
                stack.loaded(other := Model(name=COPY.name, parameters={"num_batch": 64})),
                beside=other,
            ),
            "not loaded",
            id="with other parameters",
        ),
        pytest.param(
            under_one_name(stack.loaded(COPY, expires_at=SOON)), f"goes at {SOON}", id="not to stay"
        ),
    ],
)
def test_another_tag_does_not_stand_for_every_model(facts: HostFacts, told: str) -> None:
    found = verdict(facts, "models.loaded")
    assert (found.status, told in found.observed) == (Status.FAIL, True)


def unit(**changes: str) -> HostFacts:
    return host_facts(units=stack.units(unit_files(), changed={"apuhost-models": changes}))


def written(path: str, text: str | None) -> HostFacts:
    files = {name: text if name == path else kept for name, kept in unit_files().items()}
    there = {name: text for name, text in files.items() if text is not None}
    return host_facts(units=stack.units(there))


@pytest.mark.parametrize(
    ("facts", "layer", "evidence", "fix"),
    [
        pytest.param(written(UNIT, None), CONFIGURED, f"{UNIT} is not there", DEPLOY, id="no unit"),
        pytest.param(
            written(PROGRAM, "exit 0\n"),
            CONFIGURED,
            f"{PROGRAM} is not as rendered",
            DEPLOY,
            id="program edited",
        ),
        pytest.param(
            unit(UnitFileState="masked", ActiveState="inactive"),
            CONFIGURED,
            "is-enabled apuhost-models.service: masked",
            DEPLOY,
            id="masked",
        ),
        pytest.param(unit(UnitFileState="disabled"), CONFIGURED, "disabled", DEPLOY, id="disabled"),
        pytest.param(
            unit(ActiveState="failed", Result="exit-code"),
            LIVE,
            "failed, exit-code",
            "journalctl -b -u apuhost-models.service",
            id="failed",
        ),
        pytest.param(
            unit(ActiveState="inactive"), LIVE, "inactive, success", "journalctl", id="not run"
        ),
        pytest.param(
            unit(NeedDaemonReload="yes"),
            LIVE,
            "NeedDaemonReload=yes",
            "systemctl daemon-reload",
            id="changed since systemd read it",
        ),
    ],
)
def test_a_preload_that_is_not_as_asked(
    facts: HostFacts, layer: Layer, evidence: str, fix: str
) -> None:
    found = verdict(facts, "models.preload")
    assert failing(found) == (Status.FAIL, layer)
    assert evidence in found.evidence
    assert fix in found.fix


def test_a_preload_at_work_is_unknown() -> None:
    found = verdict(unit(ActiveState="activating"), "models.preload")
    assert (found.status, "at work" in found.reason) == (Status.UNKNOWN, True)


def test_where_nothing_is_asked_there_is_nothing_to_judge() -> None:
    for verdict_id in models.IDS:
        assert verdict(HEALTHY, verdict_id, models_list=[]).status is Status.SKIP
    for verdict_id in ("models.loaded", "models.preload"):
        asked = [{**REFERENCE, "preload": False}]
        assert verdict(HEALTHY, verdict_id, models_list=asked).status is Status.SKIP


@pytest.mark.parametrize(
    ("verdict_id", "missing"),
    [
        ("models.pinned", "model_store"),
        ("models.pinned", "ollama_api"),
        ("models.requires", "model_store"),
        ("models.requires", "ollama_api"),
        ("models.parameters", "model_store"),
        ("models.blob", "model_store"),
        ("models.loaded", "ollama_api"),
        ("models.loaded", "model_store"),
        ("models.preload", "units"),
    ],
)
def test_what_could_not_be_read_is_unknown(verdict_id: str, missing: str) -> None:
    found = verdict(unread(HEALTHY, missing), verdict_id)
    assert (found.status, missing in found.reason) == (Status.UNKNOWN, True)


def test_an_api_that_does_not_answer_leaves_what_is_loaded_unknown() -> None:
    silent = stack.ollama_api(ps="", tags="")
    for verdict_id in ("models.pinned", "models.loaded"):
        found = verdict(host_facts(ollama_api=silent), verdict_id)
        assert (found.status, found.layer) == (Status.UNKNOWN, EFFECTIVE)


# A generated token.


def generated(facts: HostFacts) -> tuple[Verdict, ...]:
    return generation(derive(settings(), facts), facts)


def asked_for(*answers: tuple[str, str]) -> HostFacts:
    return also(HEALTHY, generation=stack.generation(*answers))


TOKEN = reply({"model": QWEN.name, "response": "Yes", "done": True, "eval_count": 1})


def test_nobody_is_asked_for_a_token_unless_it_is_wanted() -> None:
    assert generated(HEALTHY) == ()


@pytest.mark.parametrize(
    ("answers", "status", "told"),
    [
        pytest.param([(f"reply {QWEN.name}", TOKEN)], Status.PASS, "1 token", id="a token"),
        pytest.param(
            [(f"reply {QWEN.name}", reply({"done": True}))],
            Status.FAIL,
            "without a token",
            id="none",
        ),
        pytest.param(
            [(f"reply {QWEN.name}", reply({"error": "device lost"}, "500 Internal Server Error"))],
            Status.FAIL,
            "HTTP 500",
            id="an error",
        ),
        pytest.param(
            [(f"reply {QWEN.name}", reply({"error": "no slot"}))],
            Status.FAIL,
            "no slot",
            id="words",
        ),
        pytest.param(
            [(f"silent {QWEN.name}", "")], Status.FAIL, "neither a token", id="the API hangs too"
        ),
        pytest.param([(f"busy {QWEN.name}", "")], Status.UNKNOWN, "busy", id="busy"),
        pytest.param([(f"unasked {QWEN.name}", "")], Status.UNKNOWN, "busy", id="no time left"),
        pytest.param([], Status.SKIP, "no model", id="nothing loaded"),
        pytest.param(
            [("reply nomic:1", reply({"error": "x does not support generate"}, "400 Bad Request"))],
            Status.SKIP,
            "no model that makes text",
            id="a model that only embeds",
        ),
        pytest.param(
            [("busy a:1", ""), (f"reply {QWEN.name}", reply({}))],
            Status.FAIL,
            QWEN.name,
            id="a fault outweighs what is busy",
        ),
    ],
)
def test_a_generated_token(answers: list[tuple[str, str]], status: Status, told: str) -> None:
    (found,) = generated(asked_for(*answers))
    assert found.status is status
    assert told in f"{found.observed} {found.evidence} {found.reason}"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(stack.framed({"error": "docker does not answer"}), id="no docker"),
        pytest.param(stack.framed({"address": "127.0.0.1:11434"}), id="cut"),
        pytest.param("==> 9 x\n", id="broken"),
    ],
)
def test_where_nobody_could_be_asked_it_is_unknown(text: str) -> None:
    (found,) = generated(also(HEALTHY, generation=text))
    assert found.status is Status.UNKNOWN


def test_a_token_is_the_last_of_the_models_verdicts() -> None:
    facts = asked_for((f"reply {QWEN.name}", TOKEN))
    assert verdict(facts, "models.generation").status is Status.PASS
    assert models.ACTIVE_IDS == ("models.generation",)
