"""Ollama's verdicts on the container: each fault at the first layer that differs."""

from typing import Any

import pytest
from tests.support import stack
from tests.support.hosts import host_facts, rendered
from tests.support.verdicts import HEALTHY, also, failing, unread, verdict

from apuhost.changes import compose
from apuhost.host_facts import HostFacts
from apuhost.probes.files import TextFile, frame
from apuhost.verdicts import Layer, Severity, Status, ollama

DEPLOY = "apuhost deploy INVENTORY"
OTHER = f"sha256:{'0b' * 32}"
CONFIGURED, BOOTED, LIVE, EFFECTIVE = Layer
COMPOSE = rendered()[compose.PATH]


@pytest.mark.parametrize("verdict_id", ollama.IDS)
def test_a_healthy_host_passes(verdict_id: str) -> None:
    found = verdict(HEALTHY, verdict_id)
    assert (found.status, found.severity) == (Status.PASS, Severity.REQUIRED)


def composed(old: str, new: str) -> HostFacts:
    """A host whose compose file was edited by hand."""
    assert old in COMPOSE
    return host_facts(compose=stack.framed({compose.PATH: COMPOSE.replace(old, new)}))


def made(**changes: Any) -> HostFacts:  # noqa: ANN401
    """A host whose container is another in some members."""
    return host_facts(containers=stack.containers(stack.container(**changes), stack.image()))


def variables(**changes: str | None) -> dict[str, str]:
    """The environment with other values; None takes a variable out."""
    changed = {**stack.ENVIRONMENT, **changes}
    return {name: value for name, value in changed.items() if value is not None}


def running(**changes: str | None) -> HostFacts:
    """A host whose server process has other variables than its container was made with."""
    return host_facts(runners=stack.runners(stack.command(), environment=variables(**changes)))


NONE = host_facts(containers=stack.containers(stack.image()))
BY_HAND = "/home/admin/compose.yaml"
THEIRS = {**stack.LABELS, "com.docker.compose.project.config_files": BY_HAND}
del THEIRS["apuhost.made-from"]
LAUGHS = "a: &a [x,x,x,x,x,x,x,x]\n" + "".join(
    f"{here}: &{here} [{','.join([f'*{last}'] * 8)}]\n"
    for last, here in zip("abcdefghijkl", "bcdefghijklm", strict=True)
)
LAUGHS = f"{LAUGHS}services: {{ollama: {{image: *m}}}}\n"
HOST_PORT = stack.at("0.0.0.0", 8080)


@pytest.mark.parametrize(
    ("facts", "layer", "evidence"),
    [
        pytest.param(
            composed(f"@{stack.IMAGE_DIGEST}", ""),
            CONFIGURED,
            f"{compose.PATH} has image: docker.io/ollama/ollama:0.34.4",
            id="a tag without a digest",
        ),
        pytest.param(
            composed(stack.IMAGE_DIGEST, OTHER), CONFIGURED, OTHER, id="compose file edited"
        ),
        pytest.param(
            host_facts(
                containers=stack.containers(
                    stack.container(image_id=OTHER, image=f"ollama/ollama@{OTHER}"),
                    stack.image(OTHER, OTHER),
                    stack.image(),
                )
            ),
            BOOTED,
            f"docker inspect ollama: ollama/ollama@{OTHER}",
            id="container recreated with another digest",
        ),
    ],
)
def test_another_image_is_named(facts: HostFacts, layer: Layer, evidence: str) -> None:
    found = verdict(facts, "ollama.image")
    assert failing(found) == (Status.FAIL, layer)
    assert evidence in found.evidence
    assert found.fix == DEPLOY


def test_in_containerds_store_an_image_is_known_by_its_own_id() -> None:
    block = stack.container(image_id=stack.IMAGE_DIGEST)
    facts = host_facts(containers=stack.containers(block, stack.image(OTHER, stack.IMAGE_DIGEST)))
    assert verdict(facts, "ollama.image").status is Status.PASS


def test_an_image_that_was_removed_is_unknown() -> None:
    found = verdict(host_facts(containers=stack.containers(stack.container())), "ollama.image")
    assert (found.status, found.layer) == (Status.UNKNOWN, BOOTED)


CONTAINER = [
    pytest.param(
        composed("unless-stopped", "always"), CONFIGURED, "restart is not as asked", id="edited"
    ),
    pytest.param(
        composed('"/dev/dri"', '"/dev/null"'), CONFIGURED, "devices is not as asked", id="devices"
    ),
    pytest.param(
        composed('name: "ollama"\nservices', 'name: "other"\nservices'),
        CONFIGURED,
        "project's name is not as asked",
        id="another project",
    ),
    pytest.param(
        composed("services:\n", "services:\n  webui:\n    image: x\n"),
        CONFIGURED,
        "service webui is not as asked",
        id="another service in our file",
    ),
    *(
        pytest.param(
            host_facts(compose=stack.framed({compose.PATH: text})),
            CONFIGURED,
            "the compose file is broken",
            id=f"no compose file: {text[:20]!r}",
        )
        for text in ("", "a", "[]", "services: 1", "services: {ollama: []}", LAUGHS)
    ),
    pytest.param(
        host_facts(compose=stack.framed({compose.PATH: "services: [\n"})),
        CONFIGURED,
        "the compose file is broken",
        id="no YAML any more",
    ),
    pytest.param(host_facts(compose=""), CONFIGURED, "no compose file", id="file removed"),
    pytest.param(
        host_facts(compose="", containers=stack.containers(stack.image())),
        CONFIGURED,
        "no compose file",
        id="nothing there",
    ),
    pytest.param(NONE, BOOTED, "no such container", id="container removed"),
    pytest.param(made(devices=[]), BOOTED, "lacks /dev/dri", id="without /dev/dri"),
    pytest.param(made(devices=None), BOOTED, "lacks /dev/dri", id="without devices"),
    pytest.param(
        made(group_add=["105", "44"]), BOOTED, "its groups are 105, 44", id="an old number"
    ),
    pytest.param(made(**HOST_PORT), BOOTED, "11434/tcp at 8080", id="another port"),
    pytest.param(made(ports={}), BOOTED, "not published", id="no port"),
    pytest.param(made(mounts=[]), BOOTED, "/root/.ollama is in no volume", id="no volume"),
    pytest.param(
        made(labels={**stack.LABELS, "apuhost.made-from": "before"}),
        BOOTED,
        "changed since it was made",
        id="made of an older file",
    ),
    pytest.param(made(restart_policy="no"), BOOTED, "restart policy is no", id="never restarted"),
    pytest.param(
        made(running=False, status="exited", pid=0, published={}),
        LIVE,
        "it is exited",
        id="stopped",
    ),
    pytest.param(made(status="restarting"), LIVE, "it is restarting", id="restarting"),
    pytest.param(made(health="unhealthy"), LIVE, "health check fails", id="unhealthy"),
]


@pytest.mark.parametrize(("facts", "layer", "observed"), CONTAINER)
def test_a_container_that_is_not_as_asked(facts: HostFacts, layer: Layer, observed: str) -> None:
    found = verdict(facts, "ollama.container")
    assert failing(found) == (Status.FAIL, layer)
    assert found.severity is Severity.REQUIRED
    assert observed in found.observed
    assert found.evidence
    assert found.fix


def test_a_container_that_docker_had_to_restart_is_worth_a_word() -> None:
    found = verdict(made(restart_count=3), "ollama.container")
    assert (found.status, found.severity) == (Status.FAIL, Severity.RECOMMENDED)
    assert "RestartCount 3" in found.evidence
    worse = verdict(made(restart_count=3, status="restarting"), "ollama.container")
    assert (worse.status, worse.severity) == (Status.FAIL, Severity.REQUIRED)


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(made(group_add=None), id="without groups: its processes are root's"),
        pytest.param(made(devices=[], privileged=True), id="privileged"),
        pytest.param(made(health=None), id="without a health check"),
        pytest.param(
            host_facts(
                compose="",
                containers=stack.containers(stack.container(labels=THEIRS), stack.image()),
            ),
            id="made from another compose file",
        ),
        pytest.param(
            host_facts(
                compose="",
                containers=stack.containers(stack.container(labels={}), stack.image()),
            ),
            id="made by docker run",
        ),
    ],
)
def test_a_container_set_up_by_hand_passes_where_it_does_the_same(facts: HostFacts) -> None:
    assert verdict(facts, "ollama.container").status is Status.PASS
    assert verdict(facts, "ollama.image").status is Status.PASS
    assert verdict(facts, "ollama.environment").status is Status.PASS
    assert verdict(facts, "ollama.exposure").status is Status.PASS


ENVIRONMENT = [
    pytest.param(
        composed('OLLAMA_IGPU_ENABLE: "1"', 'OLLAMA_IGPU_ENABLE: "0"'),
        CONFIGURED,
        f"{compose.PATH} has OLLAMA_IGPU_ENABLE=0",
        id="compose file edited",
    ),
    pytest.param(
        composed('      OLLAMA_IGPU_ENABLE: "1"\n', ""),
        CONFIGURED,
        f"{compose.PATH} has no OLLAMA_IGPU_ENABLE",
        id="OLLAMA_IGPU_ENABLE taken out",
    ),
    pytest.param(
        composed("    environment:\n", "    environment:\n      OLLAMA_NEW_ENGINE: 1\n"),
        CONFIGURED,
        "has OLLAMA_NEW_ENGINE=1",
        id="one that nobody asked for",
    ),
    pytest.param(
        made(environment=variables(OLLAMA_IGPU_ENABLE=None)),
        BOOTED,
        "container ollama has no OLLAMA_IGPU_ENABLE",
        id="made without OLLAMA_IGPU_ENABLE",
    ),
    pytest.param(
        made(environment=variables(OLLAMA_KEEP_ALIVE="5m")),
        BOOTED,
        "OLLAMA_KEEP_ALIVE=5m",
        id="made with another value",
    ),
    pytest.param(
        made(environment=variables(OLLAMA_NO_CLOUD=None)),
        BOOTED,
        "no OLLAMA_NO_CLOUD",
        id="Ollama's default is another",
    ),
    pytest.param(
        made(environment=variables(OLLAMA_VULKAN="0")),
        BOOTED,
        "OLLAMA_VULKAN=0",
        id="Vulkan off",
    ),
    pytest.param(
        running(OLLAMA_IGPU_ENABLE=None),
        LIVE,
        f"/proc/{stack.SERVER_PID}/environ has no OLLAMA_IGPU_ENABLE",
        id="the server has it not",
    ),
    pytest.param(
        running(OLLAMA_CONTEXT_LENGTH="4096"),
        LIVE,
        "OLLAMA_CONTEXT_LENGTH=4096",
        id="the server has another value",
    ),
]


@pytest.mark.parametrize(("facts", "layer", "evidence"), ENVIRONMENT)
def test_a_variable_that_is_not_as_asked(facts: HostFacts, layer: Layer, evidence: str) -> None:
    found = verdict(facts, "ollama.environment")
    assert failing(found) == (Status.FAIL, layer)
    assert evidence in found.evidence
    assert found.fix == DEPLOY


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param(variables(OLLAMA_NO_CLOUD="true", OLLAMA_IGPU_ENABLE="T"), id="true is 1"),
        pytest.param(variables(OLLAMA_NO_CLOUD="on"), id="any other text is true"),
        pytest.param(variables(OLLAMA_NUM_PARALLEL=None), id="Ollama's default is the same"),
        pytest.param(variables(OLLAMA_VULKAN=None), id="Vulkan is on since 0.30"),
        pytest.param(variables(OLLAMA_CONTEXT_LENGTH=" '0' "), id="blanks and quotes go"),
        pytest.param(variables(OLLAMA_KEEP_ALIVE="-1m"), id="any negative time is for ever"),
        pytest.param(variables(HSA_ENABLE_SDMA="0"), id="a variable of ROCm's"),
    ],
)
def test_texts_of_one_meaning_are_equal(environment: dict[str, str]) -> None:
    facts = also(
        made(environment=environment),
        runners=stack.runners(stack.command(), environment=environment),
    )
    assert verdict(facts, "ollama.environment").status is Status.PASS


def test_an_environment_may_be_written_as_a_list() -> None:
    lines = "".join(f"      - {name}={value}\n" for name, value in stack.ENVIRONMENT.items())
    head, _, rest = COMPOSE.partition("    environment:\n")
    tail = rest[rest.index("    # The image has no curl") :]
    facts = host_facts(
        compose=stack.framed({compose.PATH: f"{head}    environment:\n{lines}{tail}"})
    )
    assert verdict(facts, "ollama.environment").status is Status.PASS


def test_a_variable_for_mesa_is_judged_as_far_as_it_shows() -> None:
    asked = {"ollama_environment": {"RADV_PERFTEST": "nggc"}}
    found = verdict(HEALTHY, "ollama.environment", **asked)
    assert failing(found) == (Status.FAIL, CONFIGURED)
    assert "RADV_PERFTEST is not set" in found.observed


OWN = {**stack.IMAGES_OWN, **stack.ENVIRONMENT}


@pytest.mark.parametrize(
    "server",
    [
        pytest.param((stack.SERVER_PID, ("/bin/ollama", "serve")), id="the container's first"),
        pytest.param((stack.SERVER_PID, ("python3", "/bin/ollama", "serve")), id="a script"),
    ],
)
def test_the_server_is_the_containers_own_one(server: tuple[int, tuple[str, ...]]) -> None:
    pid, words = server
    other = stack.process(99, ("/usr/local/bin/ollama", "serve"), {"OLLAMA_VULKAN": "0"})
    facts = host_facts(runners=f"{other}{stack.process(pid, words, OWN)}end\n")
    assert verdict(facts, "ollama.environment").status is Status.PASS


def test_with_an_init_process_the_server_is_known_by_its_words() -> None:
    server = stack.process(99, ("/bin/ollama", "serve"), OWN)
    facts = host_facts(runners=f"{server}end\n")
    assert verdict(facts, "ollama.environment").status is Status.PASS
    nothing = host_facts(runners="end\n")
    assert verdict(nothing, "ollama.environment").status is Status.UNKNOWN


# The API.


@pytest.mark.parametrize(
    ("facts", "observed", "evidence"),
    [
        pytest.param(
            host_facts(ollama_api=stack.ollama_api(version="")),
            "the API does not answer",
            "GET http://127.0.0.1:11434/api/version: no version in it",
            id="no version",
        ),
        pytest.param(
            host_facts(ollama_api=frame((TextFile("address", "127.0.0.1:11434"),))),
            "the API does not answer",
            "GET http://127.0.0.1:11434/api/version: no answer",
            id="silent",
        ),
        pytest.param(
            host_facts(ollama_api=frame((TextFile("error", "its container is exited"),))),
            "the API does not answer",
            "its container is exited",
            id="container stopped",
        ),
        pytest.param(
            host_facts(ollama_api=stack.ollama_api(version="0.30.0")),
            "Ollama 0.30.0 answers",
            'GET /api/version: {"version":"0.30.0"}',
            id="another version",
        ),
    ],
)
def test_an_api_that_is_not_the_pinned_one(facts: HostFacts, observed: str, evidence: str) -> None:
    found = verdict(facts, "ollama.api")
    assert failing(found) == (Status.FAIL, EFFECTIVE)
    assert (found.observed, found.evidence) == (observed, evidence)
    assert found.fix


@pytest.mark.parametrize(
    ("tag", "status"),
    [("0.34.4-rocm", Status.PASS), ("rocm", Status.PASS), ("0.34.5-rocm", Status.FAIL)],
)
def test_a_tag_tells_a_version_or_none(tag: str, status: Status) -> None:
    asked = {
        "ollama_backend": "rocm",
        "ollama_image": f"docker.io/ollama/ollama:{tag}@{stack.IMAGE_DIGEST}",
    }
    assert verdict(HEALTHY, "ollama.api", **asked).status is status


@pytest.mark.parametrize(
    ("verdict_id", "missing"),
    [
        ("ollama.image", "containers"),
        ("ollama.image", "compose"),
        ("ollama.container", "containers"),
        ("ollama.container", "compose"),
        ("ollama.container", "accounts"),
        ("ollama.environment", "containers"),
        ("ollama.environment", "compose"),
        ("ollama.environment", "runners"),
        ("ollama.exposure", "containers"),
        ("ollama.exposure", "firewall"),
        ("ollama.api", "ollama_api"),
        ("ollama.gpu", "ollama_log"),
        ("ollama.runner", "runners"),
        ("ollama.runner", "ollama_api"),
        ("ollama.runner", "model_store"),
        ("ollama.offload", "ollama_log"),
        ("ollama.offload", "ollama_api"),
        ("ollama.prompt_cache", "runners"),
        ("ollama.prompt_cache", "ollama_log"),
    ],
)
def test_what_could_not_be_read_is_unknown(verdict_id: str, missing: str) -> None:
    found = verdict(unread(HEALTHY, missing), verdict_id)
    assert (found.status, missing in found.reason) == (Status.UNKNOWN, True)


def test_the_mesa_that_ollama_computes_with_is_told() -> None:
    found = verdict(HEALTHY, "ollama.gpu")
    assert found.observed.endswith(", Mesa 25.2.8-0ubuntu0.24.04.1 in its container")


@pytest.mark.parametrize(
    "packages",
    [
        pytest.param("refused Ollama's container does not run\n", id="not read"),
        pytest.param("end\n", id="an image without dpkg"),
    ],
)
def test_a_mesa_that_no_list_tells_is_left_out(packages: str) -> None:
    found = verdict(also(HEALTHY, container_packages=packages), "ollama.gpu")
    assert (found.status, "Mesa" in found.observed) == (Status.PASS, False)


DOWN = host_facts(
    docker=stack.docker_down(),
    containers=f"refused {stack.DOCKER_DOWN}\n",
    ollama_api=frame((TextFile("error", "docker does not answer"),)),
)


@pytest.mark.parametrize(
    "verdict_id", ["ollama.image", "ollama.container", "ollama.environment", "ollama.exposure"]
)
def test_while_docker_is_down_its_containers_are_unknown(verdict_id: str) -> None:
    found = verdict(DOWN, verdict_id)
    assert found.status is Status.UNKNOWN
    assert "docker does not answer" in found.reason


@pytest.mark.parametrize(
    "verdict_id",
    ["ollama.image", "ollama.environment", "ollama.exposure", "ollama.api", "ollama.gpu"],
)
def test_without_a_container_the_rest_is_unknown(verdict_id: str) -> None:
    found = verdict(NONE, verdict_id)
    assert (found.status, found.reason) == (Status.UNKNOWN, "there is no container ollama")
