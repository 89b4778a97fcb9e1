"""What is read of docker's containers, and which of them runs Ollama."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, containers
from apuhost.probes.containers import Container, Containers, Image, Mount, Port

IMAGE_ID = f"sha256:{'1' * 64}"
VERSION = "org.opencontainers.image.version"

INSPECTED: dict[str, Any] = {
    "id": "a" * 64,
    "name": "/ollama",
    "image_id": IMAGE_ID,
    "image": "docker.io/ollama/ollama:0.34.4@sha256:82",
    "running": True,
    "status": "running",
    "pid": 4711,
    "health": "healthy",
    "started_at": "2026-11-29T23:35:39.413429107Z",
    "restart_count": 2,
    "restart_policy": "unless-stopped",
    "devices": [
        {"PathOnHost": "/dev/dri", "PathInContainer": "/dev/dri", "CgroupPermissions": "rwm"}
    ],
    "group_add": ["992", "44"],
    "ports": {"11434/tcp": [{"HostIp": "127.0.0.1", "HostPort": "11434"}]},
    "published": {
        "11434/tcp": [{"HostIp": "127.0.0.1", "HostPort": "11434"}],
        "9/udp": None,
    },
    "mounts": [
        {
            "Type": "volume",
            "Name": "ollama",
            "Source": "/var/lib/docker/volumes/ollama/_data",
            "Destination": "/root/.ollama",
            "Driver": "local",
            "Mode": "z",
            "RW": True,
            "Propagation": "",
        },
        {"Type": "bind", "Source": "/srv/ca", "Destination": "/ca", "Mode": "ro", "RW": False},
    ],
    "network_mode": "ollama_default",
    "privileged": False,
    "addresses": ["172.18.0.2", "", None],
}
IMAGE = {
    "id": IMAGE_ID,
    "repo_digests": ["ollama/ollama@sha256:82"],
    "repo_tags": ["ollama/ollama:0.34.4"],
    "architecture": "amd64",
}
LINES = f"""container {json.dumps(INSPECTED)}
env "OLLAMA_KEEP_ALIVE=-1"
env "OLLAMA_ORIGINS=http://a=b\\n\\u0022"
env "EMPTY"
label ["com.docker.compose.project","ollama"]
label ["com.docker.compose.project.config_files","/etc/apuhost/ollama/compose.yaml,/srv/b.yaml"]
label ["com.docker.compose.project.working_dir","/etc/apuhost/ollama"]
label ["com.docker.compose.service","ollama"]
label ["{VERSION}","24.04"]

"""
IMAGES = f"""image {json.dumps(IMAGE)}
label ["{VERSION}","24.04"]
label ["vendor","x"]

"""
ANSWER = f"{LINES}{IMAGES}volume ollama\nvolume models\nend\n"


def container(**changes: Any) -> str:  # noqa: ANN401
    """A block of COMMAND's output: the container above with other members."""
    return f"container {json.dumps({**INSPECTED, **changes})}\n"


def read(*blocks: str) -> Containers:
    return containers.parse("".join(blocks) + "end\n")


def test_a_container_made_by_compose() -> None:
    found = containers.parse(ANSWER)
    assert found.containers == (
        Container(
            id="a" * 64,
            name="ollama",
            image_id=IMAGE_ID,
            image="docker.io/ollama/ollama:0.34.4@sha256:82",
            running=True,
            status="running",
            health="healthy",
            started_at="2026-11-29T23:35:39.413429107Z",
            restart_count=2,
            restart_policy="unless-stopped",
            devices=("/dev/dri",),
            group_add=("992", "44"),
            ports=(Port("11434/tcp", "127.0.0.1", 11434),),
            published=(Port("11434/tcp", "127.0.0.1", 11434),),
            mounts=(
                Mount(
                    "volume",
                    "ollama",
                    "/var/lib/docker/volumes/ollama/_data",
                    "/root/.ollama",
                    True,
                ),
                Mount("bind", "", "/srv/ca", "/ca", False),
            ),
            environment={"OLLAMA_KEEP_ALIVE": "-1", "OLLAMA_ORIGINS": 'http://a=b\n"'},
            labels={
                "com.docker.compose.project": "ollama",
                "com.docker.compose.project.config_files": (
                    "/etc/apuhost/ollama/compose.yaml,/srv/b.yaml"
                ),
                "com.docker.compose.project.working_dir": "/etc/apuhost/ollama",
                "com.docker.compose.service": "ollama",
            },
            network_mode="ollama_default",
            privileged=False,
            addresses=("172.18.0.2",),
            pid=4711,
        ),
    )
    assert found.images == {
        IMAGE_ID: Image(
            IMAGE_ID,
            ("ollama/ollama@sha256:82",),
            ("ollama/ollama:0.34.4",),
            {VERSION: "24.04"},
            "amd64",
        )
    }
    assert found.volumes == ("ollama", "models")


def test_compose_tells_where_a_container_comes_from() -> None:
    found = containers.parse(ANSWER).named("ollama")
    assert found is not None
    assert found.project == "ollama"
    assert found.config_files == ("/etc/apuhost/ollama/compose.yaml", "/srv/b.yaml")
    assert found.working_dir == "/etc/apuhost/ollama"


def test_a_container_made_by_hand_and_never_started() -> None:
    found = read(
        container(
            name="/box",
            running=False,
            status="created",
            health=None,
            pid=0,
            devices=None,
            group_add=None,
            ports={"80/tcp": [{"HostIp": "", "HostPort": "8000-8010"}]},
            published={},
            mounts=[],
            addresses=["", "", None],
        )
    )
    box = found.named("box")
    assert box is not None
    assert (box.running, box.health, box.pid) == (False, None, 0)
    assert (box.devices, box.group_add, box.mounts, box.addresses) == ((), (), (), ())
    assert box.ports == (Port("80/tcp", "", 0),)
    assert (box.project, box.config_files, box.working_dir) == (None, (), None)
    assert found.image_of(box) is None
    assert found.named("ollama") is None


@pytest.mark.parametrize("health", ["starting", "unhealthy"])
def test_health_is_docker_s_word(health: str) -> None:
    assert read(container(health=health)).containers[0].health == health


def test_an_exited_container_keeps_its_asked_ports_and_has_none_at_work() -> None:
    found = read(container(running=False, status="exited", published={})).containers[0]
    assert found.ports
    assert found.published == ()


def test_without_docker_there_are_no_containers() -> None:
    assert containers.parse("absent\n") == Containers((), {}, ())


def test_without_containers_there_may_be_volumes() -> None:
    assert containers.parse("volume ollama\nend\n") == Containers((), {}, ("ollama",))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(
            "refused Cannot connect to the Docker daemon at unix:///var/run/docker.sock.\n",
            "Cannot connect to the Docker daemon",
            id="the daemon is down",
        ),
        pytest.param("refused \n", "does not answer", id="no word"),
        pytest.param("", "in the middle", id="nothing"),
        pytest.param(LINES, "in the middle", id="no end"),
        pytest.param(
            ANSWER.replace('"/ollama"', "7"), "a whole number where a text", id="another type"
        ),
        pytest.param(ANSWER.replace("{", "[", 1), "no JSON", id="no JSON"),
        pytest.param(ANSWER.replace("container {", "container 1 {", 1), "no JSON", id="noise"),
        pytest.param(ANSWER.replace('"amd64"', "[" * 9999), "no JSON", id="too deep"),
        pytest.param(ANSWER.replace("4711", "9" * 5000), "no JSON", id="too long a number"),
        pytest.param(ANSWER.replace('["vendor","x"]', '["vendor"]'), "no pair", id="half a label"),
    ],
)
def test_an_answer_that_cannot_be_read_is_not_an_empty_one(text: str, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        containers.parse(text)


STOPPED = {"running": False, "status": "exited"}
OTHER = {"image": "nginx:1"}
BY_SERVICE = 'label ["com.docker.compose.service","ollama"]\n'


@pytest.mark.parametrize(
    ("blocks", "name"),
    [
        pytest.param((), None, id="no container"),
        pytest.param((container(name="/web", **OTHER),), None, id="no Ollama"),
        pytest.param((container(name="/ai"),), "ai", id="by its image"),
        pytest.param((container(name="/ai", image="ollama"),), "ai", id="by a bare image name"),
        pytest.param((container(name="/ai", image="x/ollama-webui:1"),), None, id="a like name"),
        pytest.param((container(name="/ai", image="ollamas/x"),), None, id="a longer name"),
        pytest.param((container(name="/ai", **OTHER), BY_SERVICE), "ai", id="by its service"),
        pytest.param(
            (container(name="/ai"), container(name="/ollama", **OTHER)), "ollama", id="name first"
        ),
        pytest.param(
            (container(name="/ai"), container(name="/ollama", **OTHER, **STOPPED)),
            "ollama",
            id="the named one, though it is stopped",
        ),
        pytest.param(
            (container(name="/old", **STOPPED), container(name="/new")), "new", id="running first"
        ),
        pytest.param((container(name="/new"), container(name="/old")), "new", id="newest first"),
    ],
)
def test_the_container_that_runs_ollama(blocks: tuple[str, ...], name: str | None) -> None:
    found = read(*blocks).ollama
    assert (found and found.name) == name


@given(st.lists(st.sampled_from(ANSWER.splitlines(keepends=True)) | st.text(max_size=20)))
def test_no_text_raises_anything_else(lines: list[str]) -> None:
    with suppress(ParseError):
        containers.parse("".join(lines) + "\nend\n")


@given(st.integers(0, len(ANSWER) - 5))
def test_a_cut_answer_is_refused(cut: int) -> None:
    with pytest.raises(ParseError):
        containers.parse(ANSWER[:cut])
