"""Every role on a real machine: a bare Debian answers prompts, and stays as it is from then on."""

import json
import shlex
import subprocess

import pytest

from tests.vm.conftest import WHOLE, Lab

POST = """
import json, sys, urllib.request
path, body = sys.argv[1], sys.argv[2].encode()
print(urllib.request.urlopen("http://127.0.0.1:11434" + path, body, 120).read().decode())
"""
RUNNER = "tr '\\0' ' ' </proc/$(pgrep -x llama-server)/cmdline"


def post(lab: Lab, path: str, **body: object) -> str:
    """Ask Ollama from the machine itself, by a client that is not ours."""
    words = ["python3", "-c", POST, path, json.dumps(body)]
    return lab.root(" ".join(shlex.quote(word) for word in words))


def test_the_first_deploy_ends_well(first_serving: "subprocess.CompletedProcess[str]") -> None:
    assert first_serving.returncode == 0, first_serving.stdout + first_serving.stderr
    assert "applying" in first_serving.stdout


def test_the_second_deploy_changes_nothing(served: Lab) -> None:
    before = served.boot_id(), served.root("docker inspect -f '{{.Id}} {{.RestartCount}}' ollama")
    planned = served.apuhost("plan", str(WHOLE))
    assert "nothing to change" in planned.stdout, planned.stdout + planned.stderr
    dry = served.pyinfra("--dry", "--json", inventory=str(WHOLE))
    changing = [
        step["name"] for step in json.loads(dry.stdout)["plan"] if step["hosts_with_change"]
    ]
    assert changing == []
    again = served.deploy(WHOLE)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "no operations changed something" in again.stdout
    after = served.boot_id(), served.root("docker inspect -f '{{.Id}} {{.RestartCount}}' ollama")
    assert after == before
    assert before[1].endswith(" 0")


def test_it_is_there_for_who_looks_with_other_tools(served: Lab) -> None:
    compose = "docker compose -f /etc/apuhost/ollama/compose.yaml"
    assert "Up" in served.root(f"{compose} ps")
    image = served.root("docker inspect -f '{{.Image}}' ollama")
    digests = served.root(f"docker image inspect -f '{{{{.RepoDigests}}}}' {image}")
    assert served.machine.image.partition("@")[2] in digests
    variables = served.root("docker exec ollama env").splitlines()
    assert {"OLLAMA_IGPU_ENABLE=1", "OLLAMA_VULKAN=1", "OLLAMA_KEEP_ALIVE=-1"} <= set(variables)
    runner = served.root(RUNNER)
    assert " -b 256 -ub 256" in runner
    assert " -c 8192 -np 1 " in runner
    assert "RADV PHOENIX" in served.root("vulkaninfo --summary 2>/dev/null")
    answer = json.loads(
        post(
            served,
            "/api/generate",
            model=served.machine.model,
            prompt="Hello",
            stream=False,
            options={"num_predict": 3},
        )
    )
    assert answer["done"] is True
    assert answer["eval_count"] > 0


def test_it_answers_again_after_a_reboot_by_itself(served: Lab) -> None:
    served.reboot()
    served.root("systemctl is-system-running --wait || true")
    assert served.root("systemctl is-active apuhost-models.service") == "active"
    assert served.wrong(WHOLE) == {}


SABOTAGE = [
    pytest.param(
        'sed -i \'s/OLLAMA_NO_CLOUD: "1"/OLLAMA_NO_CLOUD: "0"/\' /etc/apuhost/ollama/compose.yaml',
        {"ollama.environment": "configured"},
        id="compose file's environment edited",
    ),
    pytest.param(
        "docker commit ollama other:1 && docker rm -f ollama && docker run -d --name ollama "
        "--device /dev/dri -p 127.0.0.1:11434:11434 -v ollama:/root/.ollama other:1",
        {"ollama.image": "booted"},
        id="container made of another image",
    ),
    pytest.param(
        "gpasswd -d operator render",
        {"vulkan.groups": "configured"},
        id="user out of render",
        marks=pytest.mark.long,
    ),
    pytest.param(
        'sed -i \'/live-restore/d; s/"max-file": "3"/"max-file": "9"/\' '
        '/etc/docker/daemon.json && python3 -c \'import json; p="/etc/docker/daemon.json"; '
        't=open(p).read().replace("},\\n}", "}\\n}"); json.loads(t); open(p,"w").write(t)\'',
        {"docker.daemon_json": "configured"},
        id="a key of daemon.json removed",
        marks=pytest.mark.long,
    ),
    pytest.param(
        "rm /etc/systemd/system/apuhost-models.service && systemctl mask apuhost-models.service",
        {"models.preload": "configured"},
        id="preload's unit masked",
        marks=pytest.mark.long,
    ),
    pytest.param(
        "sed -i '/OLLAMA_IGPU_ENABLE/d' /etc/apuhost/ollama/compose.yaml && "
        "docker compose -f /etc/apuhost/ollama/compose.yaml up -d && sleep 20",
        {"ollama.environment": "configured", "ollama.gpu": "effective"},
        id="the integrated GPU not let in",
        marks=pytest.mark.long,
    ),
    pytest.param(
        'sed -i \'s/OLLAMA_VULKAN: "1"/OLLAMA_VULKAN: "0"/\' /etc/apuhost/ollama/compose.yaml && '
        "docker compose -f /etc/apuhost/ollama/compose.yaml up -d && sleep 20",
        {"ollama.environment": "configured", "ollama.gpu": "effective"},
        id="Vulkan switched off",
        marks=pytest.mark.long,
    ),
    pytest.param(
        "sed -i 's/127.0.0.1:11434:11434/11434:11434/' /etc/apuhost/ollama/compose.yaml && "
        "docker compose -f /etc/apuhost/ollama/compose.yaml up -d && sleep 20",
        {"ollama.exposure": "configured"},
        id="port open to all addresses",
        marks=pytest.mark.long,
    ),
    pytest.param(
        "find / -xdev -name 'libamdgpu_noop_drm_shim.so*' -not -path '/var/lib/docker/*' -delete",
        {"vulkan.device": "effective"},
        id="only llvmpipe left",
    ),
]


@pytest.mark.parametrize(("command", "named"), SABOTAGE)
def test_sabotage_is_named_by_check_and_layer(
    served: Lab, command: str, named: dict[str, str]
) -> None:
    served.root(command)
    found = served.wrong(WHOLE)
    assert {name: found.get(name) for name in named} == named


def test_a_pull_of_the_tag_that_drops_num_batch_is_named_and_healed(served: Lab) -> None:
    post(served, "/api/pull", model=served.machine.model, stream=False)
    verdict = served.verdicts(WHOLE)["models.parameters"]
    assert (verdict["status"], verdict["layer"]) == ("fail", "configured")
    assert "num_batch" in verdict["observed"] + verdict["evidence"]
    healed = served.deploy(WHOLE)
    assert healed.returncode == 0, healed.stdout + healed.stderr
    assert " -b 256 -ub 256" in served.root(RUNNER)


@pytest.mark.long
def test_a_model_that_was_unloaded_is_named_and_loaded_again(served: Lab) -> None:
    post(served, "/api/generate", model=served.machine.model, keep_alive=0, stream=False)
    assert served.wrong(WHOLE)["models.loaded"] == "effective"
    assert served.deploy(WHOLE).returncode == 0
    assert served.root("pgrep -xc llama-server") == "1"
