"""What Ollama computes on and with: the GPU, the runners' arguments, layers, the prompt cache."""

from typing import Any

import pytest
from tests.support import stack
from tests.support.hosts import REFERENCE, facts_of, host_facts, rendered
from tests.support.stack import QWEN, Model
from tests.support.verdicts import HEALTHY, failing, unread, verdict

from apuhost.changes import compose
from apuhost.host_facts import HostFacts
from apuhost.verdicts import Layer, Severity, Status

CONFIGURED, BOOTED, LIVE, EFFECTIVE = Layer
COMPOSE = rendered()[compose.PATH]
SMALL = Model("small:1b", {}, {}, weights="small", projector="")
SMALL_RUNNER = stack.command(
    SMALL, **{"--spec-type": None, "--spec-draft-n-max": None, "-b": "2048", "-ub": "2048"}
)
NOTHING_LOADED = host_facts(
    ollama_api=stack.ollama_api(),
    runners=stack.runners(),
    ollama_log=stack.ollama_log(stack.COMPUTE),
)
RADEON_CPU = stack.ON_CPU.replace(
    "description=cpu", 'description="AMD Ryzen 7 8845HS w/ Radeon 780M Graphics"'
)


def logged(*devices: str, loading: str = stack.OFFLOADED + stack.CACHE) -> HostFacts:
    return host_facts(ollama_log=stack.ollama_log(*devices, loading=loading))


@pytest.mark.parametrize(
    ("facts", "observed", "fix"),
    [
        pytest.param(
            logged(stack.DROPPED, stack.ON_CPU),
            "dropped the integrated GPU",
            "apuhost deploy INVENTORY",
            id="dropped: OLLAMA_IGPU_ENABLE is not set",
        ),
        pytest.param(logged(stack.ON_CPU), "on the CPU", "docker restart ollama", id="CPU alone"),
        pytest.param(
            logged(RADEON_CPU),
            "on the CPU",
            "docker restart ollama",
            id="a CPU whose name has the word Radeon",
        ),
        pytest.param(
            logged(stack.COMPUTE.replace("library=Vulkan", "library=Metal")),
            "through Metal",
            "docker restart ollama",
            id="an integrated GPU of another library",
        ),
        pytest.param(
            logged(
                stack.COMPUTE.replace("AMD Radeon 780M Graphics (RADV PHOENIX)", "llvmpipe (X)")
            ),
            "llvmpipe (X) through Vulkan",
            "docker restart ollama",
            id="llvmpipe",
        ),
        pytest.param(
            logged(stack.TIMED_OUT, stack.ON_CPU),
            "timed out",
            "docker restart ollama",
            id="discovery timed out",
        ),
    ],
)
def test_a_gpu_that_ollama_has_not_found(facts: HostFacts, observed: str, fix: str) -> None:
    found = verdict(facts, "ollama.gpu")
    assert failing(found) == (Status.FAIL, EFFECTIVE)
    assert observed in found.observed
    assert found.evidence
    assert found.fix == fix


def test_only_the_last_start_counts() -> None:
    log = f"{stack.ollama_log(stack.DROPPED, stack.ON_CPU)}{stack.ollama_log(stack.COMPUTE)}"
    assert verdict(host_facts(ollama_log=log), "ollama.gpu").status is Status.PASS


def test_a_discrete_gpu_is_one_too() -> None:
    facts = logged(stack.COMPUTE.replace("type=iGPU", "type=discrete"))
    assert verdict(facts, "ollama.gpu").status is Status.PASS


def test_an_integrated_gpu_that_nobody_wants_may_be_dropped() -> None:
    discrete = stack.COMPUTE.replace("iGPU", "discrete").replace("id=0", "id=1")
    facts = logged(stack.DROPPED, discrete.replace("Vulkan0", "Vulkan1"))
    assert failing(verdict(facts, "ollama.gpu")) == (Status.FAIL, EFFECTIVE)
    assert verdict(facts, "ollama.gpu", ollama_igpu_enable=False).status is Status.PASS
    alone = logged(stack.DROPPED, stack.ON_CPU)
    found = verdict(alone, "ollama.gpu", ollama_igpu_enable=False)
    assert failing(found) == (Status.FAIL, EFFECTIVE)


LOST = "ggml_vulkan: vk::Queue::submit: ErrorDeviceLost\n"
FULL = (
    "ggml_vulkan: Device memory allocation of size 1 failed.\nvk::Device: ErrorOutOfDeviceMemory\n"
)


@pytest.mark.parametrize(
    ("verdict_id", "line", "observed"),
    [
        ("ollama.gpu", LOST, "the GPU was reset under Ollama"),
        ("ollama.offload", FULL, "ran out of the GPU's memory"),
    ],
)
def test_a_fault_that_is_over_is_worth_a_word(verdict_id: str, line: str, observed: str) -> None:
    found = verdict(logged(stack.COMPUTE, loading=line + stack.OFFLOADED), verdict_id)
    assert (found.status, found.severity) == (Status.FAIL, Severity.RECOMMENDED)
    assert observed in found.observed
    assert found.fix
    worse = verdict(logged(stack.ON_CPU, loading=line), "ollama.gpu")
    assert (worse.status, worse.severity) == (Status.FAIL, Severity.REQUIRED)


def test_rocm_is_asked_for_by_its_own_name() -> None:
    asked = {
        "ollama_backend": "rocm",
        "ollama_image": stack.IMAGE.replace("0.34.4@", "0.34.4-rocm@"),
    }
    facts = logged(stack.COMPUTE.replace("library=Vulkan", "library=ROCm"))
    assert verdict(facts, "ollama.gpu", **asked).status is Status.PASS
    assert failing(verdict(HEALTHY, "ollama.gpu", **asked)) == (Status.FAIL, EFFECTIVE)


def test_where_the_logs_beginning_is_gone_a_runner_tells() -> None:
    facts = host_facts(ollama_log=stack.OFFLOADED)
    found = verdict(facts, "ollama.gpu")
    assert (found.status, "libggml-vulkan.so" in found.observed) == (Status.PASS, True)
    alone = host_facts(ollama_log=stack.OFFLOADED, runners=stack.runners())
    assert verdict(alone, "ollama.gpu").status is Status.UNKNOWN


def test_a_server_that_still_looks_for_gpus_is_unknown() -> None:
    begun = stack.ollama_log().partition("vram-based")[0].rpartition("\n")[0]
    facts = host_facts(ollama_log=begun, runners=stack.runners(), ollama_api=stack.ollama_api())
    found = verdict(facts, "ollama.gpu")
    assert (found.status, "still looks" in found.reason) == (Status.UNKNOWN, True)


# The runners' arguments.


def run(model: Model = QWEN, /, **options: str | None) -> HostFacts:
    """A host whose runner has other options; None takes one out."""
    return host_facts(runners=stack.runners(stack.command(model, **options)))


def lost(*names: str) -> Model:
    """The reference model without some parameters, as a pull of its tag leaves it."""
    return Model(parameters=stack.without(QWEN.parameters, *names))


def holding(model: Model) -> HostFacts:
    """A host with this model instead of the reference one."""
    return host_facts(
        model_store=stack.model_store(model),
        ollama_api=stack.ollama_api(stack.loaded(model), models=[model]),
        runners=stack.runners(stack.command(model)),
    )


FIXED = "systemctl restart apuhost-models.service"


@pytest.mark.parametrize(
    ("facts", "asked", "layer", "observed"),
    [
        pytest.param(
            holding(lost("num_batch")), {}, CONFIGURED, "num_batch is not set", id="pulled again"
        ),
        pytest.param(
            holding(Model(parameters={**QWEN.parameters, "num_batch": 2048})),
            {},
            CONFIGURED,
            "num_batch is 2048, not 512",
            id="another num_batch in the model",
        ),
        pytest.param(
            run(**{"-b": "2048", "-ub": "2048"}), {}, LIVE, "batch 2048 instead of 512", id="batch"
        ),
        pytest.param(
            run(**{"-ub": "128"}), {}, LIVE, "micro-batch 128 instead of 512", id="micro-batch"
        ),
        pytest.param(
            run(**{"-b": None, "-ub": None}),
            {},
            LIVE,
            "a batch of llama.cpp's own choice instead of 512",
            id="no batch",
        ),
        pytest.param(
            run(**{"-c": "8192"}),
            {"ollama_context_length": 262144},
            LIVE,
            "context 8192 instead of 262144",
            id="a client's own num_ctx",
        ),
        pytest.param(
            run(**{"-np": "4"}), {}, LIVE, "4 slots instead of 1", id="more slots than asked"
        ),
        pytest.param(
            run(**{"--flash-attn": "off"}), {}, LIVE, "flash attention off", id="flash attention"
        ),
        pytest.param(
            run(),
            {"ollama_kv_cache_type": "q8_0"},
            LIVE,
            "KV cache of f16 instead of q8_0",
            id="cache type not taken up",
        ),
        pytest.param(
            run(**{"--cache-type-k": "f16", "--cache-type-v": "q4_0"}),
            {},
            LIVE,
            "KV cache of q4_0 instead of f16",
            id="one cache type",
        ),
        pytest.param(run(**{"-ngl": "0"}), {}, LIVE, "only 0 layers", id="on the CPU"),
        pytest.param(run(**{"-ngl": "20"}), {}, LIVE, "only 20 layers", id="half of it"),
        pytest.param(run(**{"--mmproj": None}), {}, LIVE, "no vision", id="without its projector"),
        pytest.param(
            run(**{"--mmproj": f"{stack.BLOBS}/sha256-{'0' * 64}"}),
            {},
            LIVE,
            "no vision",
            id="another projector",
        ),
        pytest.param(
            run(**{"--spec-type": None, "--spec-draft-n-max": None}),
            {},
            LIVE,
            "no speculative decoding",
            id="no draft",
        ),
        pytest.param(
            run(**{"--spec-draft-n-max": "6"}), {}, LIVE, "6 tokens ahead instead of 2", id="draft"
        ),
        pytest.param(
            host_facts(ollama_api=stack.ollama_api(stack.loaded(context_length=4096))),
            {"ollama_context_length": 262144},
            EFFECTIVE,
            "context 4096 instead of 262144",
            id="Ollama says another context",
        ),
    ],
)
def test_a_runner_that_is_not_as_asked(
    facts: HostFacts, asked: dict[str, Any], layer: Layer, observed: str
) -> None:
    found = verdict(facts, "ollama.runner", **asked)
    assert failing(found) == (Status.FAIL, layer)
    assert f"{QWEN.name}: {observed}" in found.observed
    assert found.evidence
    assert found.fix == ("apuhost deploy INVENTORY" if layer is CONFIGURED else FIXED)


def test_the_evidence_is_the_command_line() -> None:
    found = verdict(run(**{"-b": "2048", "-ub": "2048"}), "ollama.runner")
    assert found.evidence == f"/proc/{stack.RUNNER_PID}/cmdline has -b 2048"


def asking(**parameters: object) -> dict[str, object]:
    """An inventory whose model has these parameters."""
    return {"models_list": [{**REFERENCE, "parameters": parameters}]}


@pytest.mark.parametrize(
    ("facts", "asked"),
    [
        pytest.param(run(**{"-ngl": "auto"}), {}, id="auto layers"),
        pytest.param(run(**{"-ngl": "all"}), {}, id="all layers"),
        pytest.param(run(**{"-ngl": "41"}), {}, id="as many layers as there are"),
        pytest.param(run(**{"--flash-attn": None}), {}, id="flash attention not said"),
        pytest.param(run(), {"ollama_num_parallel": 4}, id="a family with one slot only"),
        pytest.param(
            run(**{"--flash-attn": "on", "--cache-type-k": "q8_0", "--cache-type-v": "q8_0"}),
            {"ollama_flash_attention": "on", "ollama_kv_cache_type": "q8_0"},
            id="flash attention and cache type as asked",
        ),
        pytest.param(
            run(**{"-b": "2048", "-ub": "2048"}),
            asking(draft_num_predict=2),
            id="a batch that nobody pinned",
        ),
        pytest.param(
            run(**{"-c": "1048576", "-np": "4"}),
            {"ollama_num_parallel": 4, "ollama_context_length": 262144},
            id="a context for each slot",
        ),
    ],
)
def test_a_runner_that_is_as_asked(facts: HostFacts, asked: dict[str, Any]) -> None:
    assert verdict(facts, "ollama.runner", **asked).status is Status.PASS


def test_a_models_own_context_outweighs_the_servers() -> None:
    facts = host_facts(
        model_store=stack.model_store(Model(parameters={**QWEN.parameters, "num_ctx": 32768})),
        ollama_api=stack.ollama_api(stack.loaded(context_length=32768)),
        runners=stack.runners(stack.command(**{"-c": "32768"})),
    )
    asked = {"ollama_context_length": 262144}
    assert verdict(facts, "ollama.runner", **asked).status is Status.PASS
    pinned = asking(num_batch=512, num_ctx=262144)
    assert failing(verdict(facts, "ollama.runner", **pinned)) == (Status.FAIL, CONFIGURED)


def test_layers_that_were_asked_for_are_the_right_ones() -> None:
    facts = holding(Model(parameters={**QWEN.parameters, "num_gpu": 20}))
    asked = asking(num_batch=512, num_gpu=20)
    assert failing(verdict(facts, "ollama.runner", **asked)) == (Status.FAIL, LIVE)


@pytest.mark.parametrize(
    ("parameters", "options", "status"),
    [
        pytest.param({"draft_num_predict": 0}, {}, Status.FAIL, id="switched off, still there"),
        pytest.param({}, {}, Status.FAIL, id="nobody asked"),
        pytest.param(
            {"draft_num_predict": 0},
            {"--spec-type": None, "--spec-draft-n-max": None},
            Status.PASS,
            id="switched off",
        ),
    ],
)
def test_drafts_only_where_they_are_asked_for(
    parameters: dict[str, object], options: dict[str, str | None], status: Status
) -> None:
    model = Model(parameters={"num_batch": 512, **parameters})
    facts = host_facts(
        model_store=stack.model_store(model),
        ollama_api=stack.ollama_api(stack.loaded(model), models=[model]),
        runners=stack.runners(stack.command(model, **options)),
    )
    asked = asking(num_batch=512, **parameters)
    assert verdict(facts, "ollama.runner", **asked).status is status


def test_a_projector_only_where_the_model_has_one() -> None:
    plain = Model(projector="")
    own = stack.command(plain, **{"--mmproj": plain.blob})
    foreign = stack.command(plain, **{"--mmproj": QWEN.projector_blob})
    for words, status in ((own, Status.PASS), (foreign, Status.FAIL)):
        facts = host_facts(
            model_store=stack.model_store(plain),
            ollama_api=stack.ollama_api(stack.loaded(plain), models=[plain]),
            runners=stack.runners(words),
        )
        assert verdict(facts, "ollama.runner").status is status


def several(*models: Model, **options: str | None) -> HostFacts:
    """A host that has the reference model and others loaded, all with other options."""
    every = (QWEN, *models)
    return host_facts(
        model_store=stack.model_store(*every),
        ollama_api=stack.ollama_api(*(stack.loaded(model) for model in every), models=every),
        runners=stack.runners(
            stack.command(**options),
            *(
                stack.command(model, **{"--spec-type": None, "--spec-draft-n-max": None, **options})
                for model in models
            ),
        ),
    )


def test_of_several_models_the_first_that_differs_is_named_and_how_many_do() -> None:
    found = verdict(several(SMALL, **{"-np": "8"}), "ollama.runner")
    assert found.observed == f"{QWEN.name}: 8 slots instead of 1 (the first of 2 that differ)"
    assert verdict(several(SMALL), "ollama.runner").status is Status.PASS


def test_a_model_that_nobody_asked_for_has_the_servers_rules_alone() -> None:
    good = several(SMALL)
    assert verdict(good, "ollama.runner", ollama_context_length=0).status is Status.PASS
    found = verdict(several(SMALL, **{"--flash-attn": "off"}), "ollama.runner", models_list=[])
    assert failing(found) == (Status.FAIL, LIVE)
    assert found.fix == f"docker exec ollama ollama stop {QWEN.name}"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param((), id="no runner"),
        pytest.param(stack.command(SMALL), id="another model's runner"),
        pytest.param(
            ["/usr/bin/ollama", "runner", "--model", QWEN.blob, "--port", "4"],
            id="a runner before 0.30",
        ),
    ],
)
def test_without_its_arguments_a_runner_is_unknown(words: list[str]) -> None:
    facts = host_facts(runners=stack.runners(words) if words else stack.runners())
    found = verdict(facts, "ollama.runner")
    assert (found.status, found.layer) == (Status.UNKNOWN, LIVE)


def test_a_model_that_is_to_be_loaded_and_is_not_is_unknown() -> None:
    for verdict_id in ("ollama.runner", "ollama.offload"):
        found = verdict(NOTHING_LOADED, verdict_id)
        assert (found.status, "not loaded" in found.reason) == (Status.UNKNOWN, True)


def test_without_a_model_there_is_nothing_to_judge() -> None:
    for verdict_id in ("ollama.runner", "ollama.offload"):
        found = verdict(NOTHING_LOADED, verdict_id, models_list=[])
        assert (found.status, "no model is loaded" in found.reason) == (Status.SKIP, True)


# On the GPU whole.

HALF = {"size": 20 * stack.GIB, "size_vram": 10 * stack.GIB}


@pytest.mark.parametrize(
    ("facts", "observed"),
    [
        pytest.param(
            host_facts(ollama_api=stack.ollama_api(stack.loaded(size_vram=0))),
            "on the CPU",
            id="on the CPU",
        ),
        pytest.param(
            host_facts(ollama_api=stack.ollama_api(stack.loaded(**HALF))),
            "50 % on the GPU",
            id="half of it",
        ),
        pytest.param(
            host_facts(ollama_api=stack.ollama_api(stack.loaded(size=0, size_vram=0))),
            "on the CPU",
            id="no size at all",
        ),
        pytest.param(
            logged(stack.COMPUTE, loading=stack.OFFLOADED.replace("41/41", "15/41")),
            "15/41 layers",
            id="fewer layers",
        ),
        pytest.param(
            logged(stack.COMPUTE, loading=stack.UNTRACKED + stack.OFFLOADED),
            "does not know how much",
            id="sizes that are the file's",
        ),
    ],
)
def test_a_model_that_is_not_on_the_gpu_whole(facts: HostFacts, observed: str) -> None:
    found = verdict(facts, "ollama.offload")
    assert failing(found) == (Status.FAIL, EFFECTIVE)
    assert observed in found.observed
    assert found.evidence
    assert found.fix


def split(vram: int, loading: str = "") -> HostFacts:
    """A host whose model has so many of its 20 GiB on the GPU."""
    return host_facts(
        ollama_api=stack.ollama_api(stack.loaded(size=20 * stack.GIB, size_vram=vram * stack.GIB)),
        ollama_log=stack.ollama_log(stack.COMPUTE, loading=loading),
    )


FEWER = stack.OFFLOADED.replace("41/41", "20/41")


@pytest.mark.parametrize(
    ("facts", "layers", "observed"),
    [
        pytest.param(
            split(10),
            20,
            f"{QWEN.name}: 50 % on the GPU, the rest on the CPU, as num_gpu 20 asks",
            id="sizes",
        ),
        pytest.param(
            split(10, FEWER),
            20,
            "20/41 layers on the GPU, as num_gpu asks",
            id="sizes and layers",
        ),
        pytest.param(split(0), 0, f"{QWEN.name}: on the CPU, as num_gpu 0 asks", id="none"),
    ],
)
def test_a_part_on_the_gpu_that_was_asked_for_is_good(
    facts: HostFacts, layers: int, observed: str
) -> None:
    found = verdict(facts, "ollama.offload", **asking(num_gpu=layers))
    assert (found.status, found.observed) == (Status.PASS, observed)


@pytest.mark.parametrize(
    ("facts", "layers", "observed"),
    [
        pytest.param(split(0), 20, "on the CPU in spite of num_gpu 20", id="no GPU was found"),
        pytest.param(split(10), -1, "50 % on the GPU, the rest on the CPU", id="as Ollama likes"),
        pytest.param(split(10, FEWER), 30, "20/41 layers on the GPU", id="another number"),
    ],
)
def test_a_part_on_the_gpu_that_nobody_asked_for_is_not(
    facts: HostFacts, layers: int, observed: str
) -> None:
    found = verdict(facts, "ollama.offload", **asking(num_gpu=layers))
    assert failing(found) == (Status.FAIL, EFFECTIVE)
    assert found.observed.endswith(observed)


def test_a_num_gpu_that_the_model_brings_along_is_somebodys_choice() -> None:
    store = stack.model_store(Model(parameters={**QWEN.parameters, "num_gpu": 20}))
    parts = {name: reading.text for name, reading in split(10, FEWER).readings.items()}
    facts = facts_of({**parts, "model_store": store})
    assert verdict(facts, "ollama.offload").status is Status.PASS


def test_a_log_that_forgot_its_layers_does_not_outweigh_the_sizes() -> None:
    assert verdict(logged(stack.COMPUTE, loading=""), "ollama.offload").status is Status.PASS


# The prompt cache.


def cached(value: str | None) -> dict[str, str]:
    kept = stack.without(stack.ENVIRONMENT, "LLAMA_ARG_CACHE_RAM")
    return kept if value is None else {**kept, "LLAMA_ARG_CACHE_RAM": value}


@pytest.mark.parametrize(
    ("facts", "layer", "observed"),
    [
        pytest.param(
            host_facts(
                compose=stack.framed(
                    {compose.PATH: COMPOSE.replace('CACHE_RAM: "6144"', 'CACHE_RAM: "-1"')}
                )
            ),
            CONFIGURED,
            "-1 MiB",
            id="compose file edited",
        ),
        pytest.param(
            host_facts(containers=stack.containers(stack.container(cached(None)), stack.image())),
            BOOTED,
            "llama.cpp's own 8192 MiB",
            id="made without it",
        ),
        pytest.param(
            host_facts(runners=stack.runners(stack.command(), environment=cached("512"))),
            LIVE,
            "512 MiB",
            id="the server has another",
        ),
        pytest.param(
            logged(stack.COMPUTE, loading=stack.CACHE.replace("6144", "8192")),
            EFFECTIVE,
            "8192 MiB",
            id="the runner says another",
        ),
    ],
)
def test_a_prompt_cache_of_another_size(facts: HostFacts, layer: Layer, observed: str) -> None:
    found = verdict(facts, "ollama.prompt_cache")
    assert failing(found) == (Status.FAIL, layer)
    assert observed in found.observed
    assert "6144 MiB" in found.expected


def test_before_a_model_is_loaded_no_runner_says_its_cache() -> None:
    assert verdict(NOTHING_LOADED, "ollama.prompt_cache").status is Status.PASS


def test_the_default_of_llama_cpp_may_be_asked_for() -> None:
    facts = host_facts(
        compose="",
        containers=stack.containers(stack.container(cached(None), labels={}), stack.image()),
        runners=stack.runners(stack.command(), environment=cached(None)),
        ollama_log=stack.ollama_log(stack.COMPUTE, loading=stack.CACHE.replace("6144", "8192")),
    )
    asked = {"ollama_prompt_cache_mib": 8192}
    assert verdict(facts, "ollama.prompt_cache", **asked).status is Status.PASS


def test_a_store_that_was_not_read_leaves_a_runner_unknown() -> None:
    found = verdict(unread(HEALTHY, "model_store"), "ollama.runner")
    assert (found.status, "model_store" in found.reason) == (Status.UNKNOWN, True)
