"""What the stack must not be deployed to: each refusal of its own topic, of applied roles alone."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import stack
from tests.support.box import Box
from tests.support.deploying import ROLES as STACK
from tests.support.hosts import facts_of, host_facts, settings, unit_files
from tests.support.stack import framed
from tests.support.verdicts import verdict

from apuhost.changes import compose, site_ca
from apuhost.changes.host import plan
from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.verdicts.refusals import HOST, ROLES, by_topic, refusals

MIB = 1024 * 1024
BARE = replace(
    Box(),
    packages=frozenset(),
    engine="none",
    files={},
    enabled=frozenset(),
    container=None,
    images=frozenset(),
    stored=(),
    kept=(),
    loaded={},
)
CE = frozenset({"docker-ce", "docker-ce-cli", "containerd.io", "docker-compose-plugin"})


def refused(facts: HostFacts, **data: object) -> dict[str, tuple[str, ...]]:
    asked = settings(**{"host_roles": list(STACK), **data})
    found = by_topic(asked, derive(asked, facts), facts)
    return {topic: reasons for topic, reasons in found.items() if reasons}


def also(facts: HostFacts, **texts: str) -> HostFacts:
    """The same host with other texts of some probes."""
    known = {name: reading.text for name, reading in facts.readings.items()}
    return facts_of({**known, **texts})


def room(root: int, var: int | None = None) -> str:
    """So many MiB free."""
    lines = f"/dev/a 9 1 {root * MIB} 1% /\n"
    return lines + (f"/dev/b 9 1 {var * MIB} 1% /var\n" if var else "")


def engine(path: str = "", **info: Any) -> str:  # noqa: ANN401
    """The engine's answer, from programs in another folder."""
    text = stack.docker(**info)
    return text.replace("/usr/bin/", path).replace("/usr/sbin/", path) if path else text


def containers(*blocks: str) -> HostFacts:
    return host_facts(containers=stack.containers(*blocks, stack.image()))


def other(name: str = "web", **changes: Any) -> str:  # noqa: ANN401
    """A container of somebody else's."""
    return stack.container({}, {}, name=f"/{name}", image="web:1", **changes)


def mounted(destination: str, kind: str = "volume") -> dict[str, str]:
    """A mount of a volume, or of a folder of the host."""
    return {"Type": kind, "Name": "models", "Source": "/srv/models", "Destination": destination}


PEM = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n"
WITHOUT_DOCKER = [role for role in STACK if role != "docker"]
CONTAINERD = [["driver-type", "io.containerd.snapshotter.v1"]]
SNAP = (
    "tool_snap=/snap/bin/docker\nLoadState=not-found\nActiveState=inactive\nUnitFileState=\nend=\n"
)
PODMAN = (
    "tool_docker=/usr/bin/docker\nLoadState=not-found\nActiveState=inactive\nUnitFileState=\n"
    "client=podman version 5.4.2\nend=\n"
)
BY_HAND = "/usr/local/bin/"
CLIENT_ALONE = (
    stack.docker_down()
    .replace("tool_dockerd=/usr/sbin/dockerd\n", "")
    .replace("ExecStart=/usr/sbin/dockerd\n", "")
)
DEAD = stack.docker_down().replace("/usr/bin/", BY_HAND).replace("/usr/sbin/", BY_HAND)
TAKEN = stack.firewall("0.0.0.0:11434")
GUARDED = {"ollama_listen": "192.0.2.10:11434", "ollama_allow_from": ["192.0.2.0/24"]}


@pytest.mark.parametrize(
    ("facts", "data"),
    [
        pytest.param(host_facts(), {}, id="the reference host, deployed"),
        pytest.param(BARE.facts(), {}, id="bare"),
        pytest.param(Box(packages=CE | Box().packages).facts(), {}, id="docker-ce"),
        pytest.param(replace(Box(), engine="down").facts(), {}, id="an engine that is down"),
        pytest.param(also(BARE.facts(), disk=room(1024, 6144)), {}, id="just room enough"),
        pytest.param(host_facts(disk=room(1)), {}, id="no room, and nothing to install"),
        pytest.param(host_facts(docker=engine(ServerVersion="23.0.0")), {}, id="the oldest engine"),
        pytest.param(host_facts(docker=engine(BY_HAND)), {}, id="an engine put there by hand"),
        pytest.param(host_facts(daemon_json=""), {}, id="no daemon.json"),
        pytest.param(
            host_facts(daemon_json=framed({"/etc/docker/daemon.json": '{"a": 1, "a": 2}'})),
            {},
            id="a key twice in daemon.json, which dockerd takes",
        ),
        pytest.param(
            host_facts(), {"docker_data_root": "/var/lib/docker"}, id="data where they should be"
        ),
        pytest.param(
            host_facts(), {"vulkan_users": ["admin"], "docker_users": ["root"]}, id="users"
        ),
        pytest.param(
            containers(stack.container(), other(**stack.at("0.0.0.0", 80))),
            {},
            id="another container on another port",
        ),
        pytest.param(
            also(
                containers(stack.container(network_mode="host", ports={}, published={})),
                firewall=TAKEN,
            ),
            {},
            id="ours on the host's network",
        ),
        pytest.param(
            also(
                containers(other("ollama-before-apuhost", **stack.at("0.0.0.0"))),
                firewall=TAKEN,
            ),
            {},
            id="the one that ours is about to replace",
        ),
        pytest.param(
            host_facts(),
            {"ollama_listen": "127.0.0.1:8434"},
            id="another port, which is free",
        ),
        pytest.param(host_facts(), {"docker_source": "distro"}, id="the distribution's, and it is"),
        pytest.param(
            host_facts(
                containers=stack.containers(stack.container()),
                docker=engine(Driver="overlayfs", DriverStatus=CONTAINERD),
                disk=room(9999, 6144) + f"/dev/c 9 1 {MIB} 1% /var/lib/docker\n",
            ),
            {},
            id="an image that goes into containerd's store",
        ),
        pytest.param(
            host_facts(), {"docker_site_ca": PEM}, id="certificates that the role docker writes"
        ),
        pytest.param(
            host_facts(units=stack.units({**unit_files(), site_ca.PATH: PEM})),
            {"docker_site_ca": PEM, "host_roles": WITHOUT_DOCKER},
            id="certificates that are there",
        ),
        pytest.param(host_facts(), {"host_roles": WITHOUT_DOCKER}, id="no certificates asked for"),
        pytest.param(
            host_facts(docker=engine(FirewallBackend={"Driver": "iptables+firewalld"})),
            GUARDED,
            id="a port with rules, and an engine that leads there",
        ),
        pytest.param(
            host_facts(firewall=stack.firewall(flags="--iptables=false")),
            {"ollama_allow_from": ["192.0.2.0/24"]},
            id="rules that guard nothing, at a port that only the host reaches",
        ),
    ],
)
def test_a_host_that_may_be_deployed(facts: HostFacts, data: dict[str, object]) -> None:
    assert refused(facts, **data) == {}


REFUSED = [
    pytest.param(
        host_facts(nodes=""),
        {},
        "GPU's nodes",
        "it has no /dev/dri/renderD*",
        id="no device node, and no reboot that would help",
    ),
    pytest.param(
        host_facts(docker=stack.docker_down()),
        {"docker_data_root": "/srv/docker"},
        "data root",
        "docker's data are in /var/lib/docker",
        id="a silent engine with data elsewhere",
    ),
    pytest.param(
        containers(
            stack.container({**stack.ENVIRONMENT, "OLLAMA_MODELS": f"{compose.STORE}/other"})
        ),
        {},
        "models' volume",
        "has its models in /root/.ollama/other (OLLAMA_MODELS): move them into "
        "/root/.ollama/models by hand",
        id="models in another folder of the store",
    ),
    pytest.param(
        host_facts(daemon_json=stack.daemon_json({"iptables": False})),
        GUARDED,
        "port's guard",
        '"iptables": false: ollama_allow_from would guard nothing',
        id="an engine that sets no rules",
    ),
    pytest.param(
        host_facts(firewall=stack.firewall(flags="--iptables=false")),
        GUARDED,
        "port's guard",
        "dockerd runs with --iptables=false",
        id="an engine that sets none by a flag",
    ),
    pytest.param(
        host_facts(daemon_json=stack.daemon_json({"firewall-backend": "nftables"})),
        GUARDED,
        "port's guard",
        '"firewall-backend": "nftables"',
        id="an engine that will set them with nftables",
    ),
    pytest.param(
        host_facts(docker=engine(FirewallBackend={"Driver": "nftables"})),
        GUARDED,
        "port's guard",
        "docker info has the firewall backend nftables",
        id="an engine that sets them with nftables",
    ),
    pytest.param(
        host_facts(),
        {"vulkan_users": ["admin", "ann"]},
        "users of the GPU",
        "vulkan_users names ann, and the host has no such user",
        id="a user of the GPU whom the host does not know",
    ),
    pytest.param(
        host_facts(),
        {"docker_users": ["ann"]},
        "users of docker",
        "docker_users names ann, and the host has no such user",
        id="a user of docker whom the host does not know",
    ),
    pytest.param(
        host_facts(packages=stack.packages("firmware-amd-graphics"), apt_sources=""),
        {},
        "firmware",
        "firmware-amd-graphics is in no package source: add non-free-firmware to Debian's by hand",
        id="no source that has the firmware",
    ),
    pytest.param(
        host_facts(packages=stack.packages("vulkan-tools"), disk=room(1023)),
        {},
        "room for Vulkan",
        "/ has 1023 MiB free, 1024 are needed",
        id="no room for Vulkan's packages",
    ),
    pytest.param(
        host_facts(packages=stack.packages("firmware-amd-graphics"), disk=room(1)),
        {},
        "room for Vulkan",
        "/ has 1 MiB free",
        id="no room for the firmware",
    ),
    pytest.param(
        host_facts(packages=stack.packages("vulkan-tools"), disk=""),
        {},
        "room for Vulkan",
        "free space under / could not be read",
        id="room that nobody could read",
    ),
    pytest.param(
        host_facts(
            packages=stack.packages("docker-cli"), docker=stack.NO_DOCKER, disk=room(1023, 9999)
        ),
        {},
        "room for Docker",
        "/ has 1023 MiB free, 1024 are needed",
        id="no room for Docker",
    ),
    pytest.param(
        host_facts(containers=stack.containers(stack.container()), disk=room(9999, 6143)),
        {},
        "room for the image",
        "/var/lib/docker has 6143 MiB free, 6144 are needed",
        id="no room for the image",
    ),
    pytest.param(
        host_facts(
            containers=stack.containers(stack.container()),
            docker=engine(Driver="overlayfs", DriverStatus=CONTAINERD),
            disk=room(9999, 9999) + f"/dev/c 9 1 {6143 * MIB} 1% /var/lib/containerd\n",
        ),
        {},
        "room for the image",
        "/var/lib/containerd has 6143 MiB free, 6144 are needed",
        id="no room in containerd's store",
    ),
    pytest.param(
        host_facts(),
        {"docker_site_ca": PEM, "host_roles": WITHOUT_DOCKER},
        "site's certificates",
        f"docker_site_ca is asked for, and {site_ca.PATH}, which the role docker writes, is not "
        "there: put it there by hand, add docker to host_roles, or empty docker_site_ca",
        id="certificates that nobody writes",
    ),
    pytest.param(
        host_facts(docker=SNAP), {}, "engine", "its docker is a snap", id="a snap of docker"
    ),
    pytest.param(
        host_facts(docker=PODMAN), {}, "engine", "remove podman-docker", id="podman for docker"
    ),
    pytest.param(
        host_facts(docker=DEAD), {}, "engine", "came from no package and does not", id="a dead one"
    ),
    pytest.param(
        host_facts(docker=CLIENT_ALONE.replace("/usr/bin/", BY_HAND)),
        {},
        "engine",
        "its docker came from no package, and there is no dockerd: remove it",
        id="a client by hand, and nothing behind it",
    ),
    pytest.param(
        host_facts(docker=engine(BY_HAND, ClientInfo={"Plugins": []})),
        {},
        "engine",
        "came from no package and has no compose plugin",
        id="one by hand without compose",
    ),
    pytest.param(
        host_facts(docker=engine(SecurityOptions=["name=rootless"])),
        {},
        "engine",
        "runs without root and cannot guard a port",
        id="without root",
    ),
    pytest.param(
        host_facts(docker=engine(ServerVersion="20.10.24+dfsg1")),
        {},
        "engine",
        "its docker 20.10.24+dfsg1 is older than 23.0",
        id="an old engine",
    ),
    pytest.param(
        Box(packages=CE | (Box().packages - {"docker.io"})).facts(),
        {"docker_source": "distro"},
        "engine",
        "docker_source is distro, and docker-ce is installed: remove that, or say auto",
        id="another source than asked for",
    ),
    pytest.param(
        host_facts(daemon_json=framed({"/etc/docker/daemon.json": '{\n  "dns": [],\n}\n'})),
        {},
        "daemon.json",
        "in line 3, column 1; mend it by hand",
        id="a broken daemon.json",
    ),
    pytest.param(
        host_facts(),
        {"docker_data_root": "/srv/docker"},
        "data root",
        "docker_data_root is /srv/docker, and docker's data are in /var/lib/docker",
        id="data that would have to move",
    ),
    pytest.param(
        containers(other(**stack.at("0.0.0.0"))),
        {},
        "port",
        "port 11434 is taken by container web: stop it, or choose another ollama_listen",
        id="another container on the port",
    ),
    pytest.param(
        also(containers(), firewall=TAKEN),
        {},
        "port",
        "an Ollama outside of Docker perhaps",
        id="another program on the port",
    ),
    pytest.param(
        also(BARE.facts(), firewall=TAKEN),
        {},
        "port",
        "an Ollama outside of Docker perhaps",
        id="another program on the port, before there is an engine",
    ),
    pytest.param(
        host_facts(firewall=stack.firewall("127.0.0.1:11434", "[::]:8434")),
        {"ollama_listen": "0.0.0.0:8434"},
        "port",
        "port 8434 is taken by another program",
        id="the port that is asked for anew",
    ),
    pytest.param(
        containers(stack.container(mounts=[])),
        {},
        "models' volume",
        "container ollama has its models in itself, in /root/.ollama/models: they would be lost "
        "with it; copy them into /root/.ollama/models of a volume at /root/.ollama",
        id="models in the container itself",
    ),
    pytest.param(
        containers(stack.container(mounts=[mounted("/root/.ollama/models")])),
        {},
        "models' volume",
        "container ollama has its models in a mount at /root/.ollama/models, and apuhost takes "
        "over one at /root/.ollama alone: move them into /root/.ollama/models of such a one",
        id="models in a volume of their own",
    ),
    pytest.param(
        containers(
            stack.container(mounts=[mounted(compose.STORE), mounted("/root/.ollama/models")])
        ),
        {},
        "models' volume",
        "has its models in a mount at /root/.ollama/models,",
        id="models in a volume of their own, within the one that would be kept",
    ),
    pytest.param(
        containers(
            stack.container(
                {**stack.ENVIRONMENT, "OLLAMA_MODELS": "/models/"},
                mounts=[mounted("/models", "bind"), mounted("/models2")],
            )
        ),
        {},
        "models' volume",
        "has its models in a mount at /models,",
        id="models in a folder mounted elsewhere",
    ),
    pytest.param(
        containers(stack.container(mounts=[mounted("/root", "bind")])),
        {},
        "models' volume",
        "has its models in a mount at /root,",
        id="models in a folder that is mounted higher up",
    ),
    pytest.param(
        containers(
            stack.container(
                mounts=[{"Type": "bind", "Source": "/srv/a:b", "Destination": compose.STORE}]
            )
        ),
        {},
        "models' volume",
        "its models are in /srv/a:b: a compose file takes no colon",
        id="models in a folder with a colon",
    ),
    pytest.param(
        containers(stack.container({**stack.ENVIRONMENT, "OLLAMA_MODELS": "/models"})),
        {},
        "models' volume",
        "container ollama has its models in itself, in /models: they would be lost",
        id="models elsewhere in the container itself",
    ),
    pytest.param(
        host_facts(
            model_store=stack.model_store(stack.QWEN).replace(
                stack.QWEN.stored, "x" * len(stack.QWEN.stored)
            )
        ),
        {},
        "models",
        "35b-a3b is no manifest: remove it, or pull that model again by hand",
        id="a manifest that is none",
    ),
]


@pytest.mark.parametrize(("facts", "data", "topic", "told"), REFUSED)
def test_a_host_that_is_left_alone(
    facts: HostFacts, data: dict[str, object], topic: str, told: str
) -> None:
    found = refused(facts, **data)
    assert list(found) == [topic]
    assert any(told in reason for reason in found[topic])
    assert not any("\n" in reason for reason in found[topic])


@pytest.mark.parametrize(("facts", "data", "topic", "told"), REFUSED)
def test_only_applied_roles_are_asked(
    facts: HostFacts, data: dict[str, object], topic: str, told: str
) -> None:
    applied = [role for role in STACK if topic not in ROLES[role]]
    assert len(applied) == len(STACK) - 1
    assert refused(facts, **{**data, "host_roles": applied}) == {}


def test_every_refusal_of_the_stack_is_shown_above() -> None:
    topics = {topic for role in STACK for topic in ROLES[role]}
    assert {str(case.values[2]) for case in REFUSED} == topics


def test_a_topic_belongs_to_one_role() -> None:
    topics = [*HOST, *(topic for refusals_of in ROLES.values() for topic in refusals_of)]
    assert len(topics) == len(set(topics))


def test_without_roles_only_the_host_itself_is_asked() -> None:
    asked = settings(host_roles=[])
    facts = host_facts()
    assert by_topic(asked, derive(asked, facts), facts).keys() == HOST.keys()


@pytest.mark.parametrize(
    ("missing", "roles"),
    [
        ("packages", {"vulkan", "docker"}),
        ("docker", {"docker", "ollama", "models"}),
        ("daemon_json", {"docker"}),
        ("containers", {"ollama"}),
        ("firewall", {"ollama"}),
        ("model_store", {"models"}),
    ],
)
def test_what_cannot_be_read_is_a_refusal_of_the_roles_that_need_it(
    missing: str, roles: set[str]
) -> None:
    texts = {name: reading.text for name, reading in host_facts().readings.items()}
    del texts[missing]
    facts = facts_of(texts)
    found = {role for role in STACK if refused(facts, host_roles=[role])}
    assert found == roles
    asked = settings(host_roles=list(STACK))
    said = refusals(asked, derive(asked, facts), facts)
    assert said == (f"cannot be judged: {missing} was not read",)


def test_a_client_without_dockerd_is_told_alike_by_doctor_and_verify() -> None:
    """No package brought it: the refusal and the verdict both miss dockerd, and nothing else."""
    facts = host_facts(
        docker=CLIENT_ALONE.replace("/usr/bin/", BY_HAND),
        containers=f"refused {stack.DOCKER_DOWN}\n",
    )
    assert refused(facts).keys() == {"engine"}
    found = verdict(facts, "docker.engine")
    assert (found.observed, found.evidence) == ("dockerd is not installed", "there is no dockerd")


@pytest.mark.parametrize(
    ("without", "docker"),
    [
        pytest.param("docker.io", CLIENT_ALONE, id="docker-cli alone"),
        pytest.param(
            "docker-cli",
            stack.NO_DOCKER.replace("LoadState", "tool_dockerd=/usr/sbin/dockerd\nLoadState"),
            id="docker.io alone, as trixie may have it",
        ),
    ],
)
def test_half_an_engine_of_the_distribution_is_completed(without: str, docker: str) -> None:
    packages = Box().packages - {without}
    facts = also(
        Box(packages=packages).facts(),
        docker=docker,
        containers=f"refused {stack.DOCKER_DOWN}\n",
        model_store=framed({"error": "docker does not answer"}),
    )
    asked = settings(host_roles=list(STACK))
    assert refused(facts) == {}
    assert without in plan(asked, facts).why("packages")
    assert verdict(facts, "docker.engine").observed in (
        "docker is not installed",
        "dockerd is not installed",
    )


@pytest.mark.parametrize("role", ["ollama", "models"])
def test_what_only_an_engine_tells_is_asked_when_it_runs(role: str) -> None:
    down = replace(Box(), engine="down").facts()
    assert refused(down) == {}
    assert refused(down, host_roles=[role])  # nobody would start it
