"""ollama.prefix_cache: is a prompt read once? By the version's own witness, never by a guess."""

import pytest
from tests.support import stack
from tests.support.hosts import host_facts, settings
from tests.support.stack import QWEN, reply
from tests.support.verdicts import HEALTHY, also, failing, verdict

from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.probes.repetition import LEAST_TOKENS, PROMPT
from apuhost.verdicts import Layer, Severity, Status, Verdict, ollama
from apuhost.verdicts.reuse import prefix_cache

TOKENS = 110


def answer(prompt: int | None = TOKENS, cached: int | None = None) -> str:
    """What /api/generate says; Ollama leaves out what it does not know."""
    counts = {"prompt_eval_count": prompt, "prompt_eval_cached_count": cached}
    known = {name: count for name, count in counts.items() if count is not None}
    return reply(
        {"model": QWEN.name, "response": "a", "done": True, "done_reason": "stop", **known}
    )


def task(number: int, cached: int, *, tokens: int = TOKENS, forced: bool = False) -> str:
    """What llama-server logs of one prompt."""
    head = f"slot update_slots: id  0 | task {number} | "
    lines = [f"new prompt, n_ctx_slot = 4096, n_keep = 4, task.n_tokens = {tokens}"]
    if forced:
        lines.append(
            "forcing full prompt re-processing due to lack of cache data (likely due to SWA or "
            "hybrid/recurrent memory, see https://x)"
        )
    lines.append(f"cached n_tokens = {cached}, memory_seq_rm [{cached}, end)")
    return "".join(f"{head}{line}\n" for line in lines)


def asked(
    *answers: str, log: str = "", version: str = stack.VERSION, model: str = QWEN.name
) -> HostFacts:
    """A host of this version that was asked twice."""
    heads = (f"{time} {model}" for time in ("first", "second"))
    told = [*zip(heads, answers, strict=False), (f"log {model}", log)]
    api = stack.ollama_api(stack.loaded(), version=version)
    return also(HEALTHY, repetition=stack.repetition(*told), ollama_api=api)


def judged(facts: HostFacts) -> Verdict:
    (found,) = prefix_cache(derive(settings(), facts), facts)
    return found


def test_nobody_is_asked_unless_it_is_wanted() -> None:
    assert prefix_cache(derive(settings(), HEALTHY), HEALTHY) == ()
    assert ollama.ACTIVE_IDS == ("ollama.prefix_cache",)


def test_the_answer_tells_it_since_0_33_3() -> None:
    found = judged(asked(answer(cached=0), answer(cached=109)))
    assert (found.status, found.severity) == (Status.PASS, Severity.RECOMMENDED)
    assert found.observed == f"{QWEN.name}: 109 of 110 tokens from the cache"
    facts = asked(answer(cached=0), answer(cached=109))
    assert verdict(facts, "ollama.prefix_cache") == found


def test_a_checkpoint_before_the_end_is_enough() -> None:
    """A model with hybrid memory goes on from one: four tokens before the end, or some more."""
    assert judged(asked(answer(cached=0), answer(cached=106))).status is Status.PASS
    assert judged(asked(answer(cached=0), answer(cached=64))).status is Status.PASS


def test_a_prompt_that_is_read_again_fails_where_the_log_shows_both() -> None:
    log = task(7, 0) + task(9, 2)
    found = judged(asked(answer(cached=0), answer(cached=2), log=log))
    assert failing(found) == (Status.FAIL, Layer.EFFECTIVE)
    assert found.severity is Severity.RECOMMENDED
    assert found.observed == f"{QWEN.name}: 2 of 110 tokens from the cache"
    assert found.evidence == "POST /api/generate: prompt_eval_cached_count 2"
    assert found.fix == "docker logs --tail 50 ollama"


def test_a_model_that_keeps_no_state_is_a_known_case_and_no_pass() -> None:
    log = task(7, 0) + task(9, 0, forced=True)
    found = judged(asked(answer(cached=0), answer(cached=0), log=log))
    assert (found.status, "llama.cpp#20153" in found.reason) == (Status.SKIP, True)
    assert QWEN.name in found.reason


@pytest.mark.parametrize(
    "log",
    [
        pytest.param("", id="no log"),
        pytest.param(task(9, 0), id="one of ours alone"),
        pytest.param(task(7, 0) + task(8, 0, tokens=5000) + task(9, 0), id="others in between"),
        pytest.param("slot x: id 0 | task", id="cut"),
    ],
)
def test_what_may_have_another_reason_is_unknown(log: str) -> None:
    found = judged(asked(answer(cached=0), answer(cached=0), log=log))
    assert (found.status, "others asked in between" in found.reason) == (Status.UNKNOWN, True)


@pytest.mark.parametrize(
    "log",
    [
        pytest.param(task(7, 0) + task(9, 109), id="the second from the cache"),
        pytest.param(task(7, 109) + task(9, 0), id="the first from the cache"),
        pytest.param(task(812, 0) + task(0, 0), id="two runners'"),
    ],
)
def test_a_log_that_shows_another_pair_makes_no_fault_of_an_answer(log: str) -> None:
    found = judged(asked(answer(cached=0), answer(cached=0), log=log))
    assert (found.status, "does not show both" in found.reason) == (Status.UNKNOWN, True)


@pytest.mark.parametrize("others", [task(812, 0), task(5, 109)])
def test_the_last_prompt_of_another_model_before_our_first_makes_no_fault(others: str) -> None:
    found = judged(asked(answer(), answer(), log=others + task(7, 0), version="0.31.0"))
    assert found.status is Status.UNKNOWN


def test_a_build_that_is_no_release_is_judged_by_the_log() -> None:
    log = task(7, 0) + task(9, 109)
    found = judged(asked(answer(), answer(), log=log, version="0.0.0-dirty"))
    assert (found.status, "109 of 110" in found.observed) == (Status.PASS, True)


@pytest.mark.parametrize("version", ["0.30.1", "0.31.0", "0.33.2"])
def test_between_0_30_1_and_0_33_2_the_log_tells_it(version: str) -> None:
    twice = (answer(), answer())
    found = judged(asked(*twice, log=task(7, 0) + task(9, 109), version=version))
    assert (found.status, "109 of 110" in found.observed) == (Status.PASS, True)
    again = judged(asked(*twice, log=task(7, 0) + task(9, 3), version=version))
    assert again.status is Status.FAIL
    assert again.evidence == "task 9: cached n_tokens = 3"
    forced = judged(asked(*twice, log=task(7, 0) + task(9, 0, forced=True), version=version))
    assert forced.status is Status.SKIP


@pytest.mark.parametrize("version", ["0.4.0", "0.24.0"])
def test_a_version_that_does_not_tell_is_no_pass(version: str) -> None:
    found = judged(asked(answer(), answer(), version=version))
    assert (found.status, "0.30.0 and later do" in found.reason) == (Status.SKIP, True)


@pytest.mark.parametrize(
    "version", [stack.VERSION, "0.33.3", "0.30.1", "0.31.0", "0.33.2", "0.0.0", "0.0.0-dirty", "x"]
)
def test_an_answer_that_does_not_tell_is_unknown(version: str) -> None:
    found = judged(asked(answer(), answer(), version=version))
    assert (found.status, "neither its answer nor the log" in found.reason) == (
        Status.UNKNOWN,
        True,
    )


@pytest.mark.parametrize("version", ["0.3.14", "0.30.0"])
def test_a_count_without_the_cached_tokens_tells_it_by_falling(version: str) -> None:
    assert judged(asked(answer(), answer(1), version=version)).status is Status.PASS
    assert judged(asked(answer(), answer(None), version=version)).status is Status.PASS
    assert judged(asked(answer(), answer(), version=version)).status is Status.UNKNOWN
    log = task(7, 0) + task(9, 0)
    assert judged(asked(answer(), answer(), log=log, version=version)).status is Status.FAIL


def test_a_run_before_this_one_left_the_first_prompt_in_the_cache() -> None:
    found = judged(asked(answer(1), answer(1), version="0.30.0"))
    assert (
        found.observed == f"{QWEN.name}: {LEAST_TOKENS - 1} of {LEAST_TOKENS} tokens from the cache"
    )


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        pytest.param((), "no two answers in time", id="none"),
        pytest.param((answer(cached=0),), "no two answers in time", id="one"),
        pytest.param((reply({}, "500 x"),), "HTTP 500", id="an error"),
    ],
)
def test_a_model_that_did_not_answer_twice_is_unknown(answers: tuple[str, ...], told: str) -> None:
    found = judged(asked(*answers))
    assert (found.status, told in found.reason) == (Status.UNKNOWN, True)


def test_models_that_only_embed_and_none_at_all_are_skipped() -> None:
    refused = reply({"error": "x does not support generate"}, "400 Bad Request")
    assert judged(asked(refused)).status is Status.SKIP
    assert judged(also(HEALTHY, repetition=stack.repetition())).status is Status.SKIP


def test_of_two_models_the_one_that_cannot_show_it_makes_no_pass() -> None:
    good = (("first a:1", answer(cached=0)), ("second a:1", answer(cached=109)), ("log a:1", ""))
    forced = task(7, 0) + task(9, 0, forced=True)
    hybrid = (
        ("first b:1", answer(cached=0)),
        ("second b:1", answer(cached=0)),
        ("log b:1", forced),
    )
    found = judged(also(HEALTHY, repetition=stack.repetition(*good, *hybrid)))
    assert (found.status, found.reason.startswith("b:1: ")) == (Status.SKIP, True)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(stack.framed({"error": "docker does not answer"}), id="no docker"),
        pytest.param(stack.framed({"address": "127.0.0.1:11434"}), id="cut"),
        pytest.param("==> 9 x\n", id="broken"),
    ],
)
def test_where_nobody_could_be_asked_it_is_unknown(text: str) -> None:
    assert judged(also(host_facts(), repetition=text)).status is Status.UNKNOWN


def test_the_prompt_is_short_but_long_enough_for_a_checkpoint() -> None:
    """llama-server makes one from 64 tokens on (server-context.cpp)."""
    assert 64 < LEAST_TOKENS == len(PROMPT.split()) < 128
