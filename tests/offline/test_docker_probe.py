"""Which container engine a host has, and what its daemon says of itself."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, docker
from apuhost.probes.docker import Docker

DOWN = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?"
DENIED = "permission denied while trying to connect to the Docker daemon socket"
TOOLS = "tool_docker=/usr/bin/docker\ntool_dockerd=/usr/sbin/dockerd\n"
UNIT = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nExecStart=/usr/sbin/dockerd\n"
CLIENT = "client=Docker version 26.1.5+dfsg1, build a72d7cd\n"
COMPOSE = {
    "SchemaVersion": "0.1.0",
    "Vendor": "Docker Inc.",
    "Version": "v2.26.1-4",
    "ShortDescription": "Docker Compose",
    "Name": "compose",
    "Path": "/usr/libexec/docker/cli-plugins/docker-compose",
}
INFO: dict[str, Any] = {
    "Containers": 1,
    "Driver": "overlay2",
    "DriverStatus": [["Backing Filesystem", "extfs"], ["Supports d_type", "true"]],
    "RegistryConfig": {
        "InsecureRegistryCIDRs": ["10.0.0.0/8", "::1/128", "127.0.0.0/8"],
        "IndexConfigs": {
            "docker.io": {"Name": "docker.io", "Mirrors": [], "Secure": True, "Official": True},
            "registry.lan:5000": {"Name": "registry.lan:5000", "Mirrors": None, "Secure": False},
        },
        "Mirrors": ["https://mirror.lan/"],
    },
    "DockerRootDir": "/var/lib/docker",
    "HttpProxy": "http://***@proxy:3128",
    "HttpsProxy": "",
    "NoProxy": "localhost,.lan",
    "ServerVersion": "26.1.5+dfsg1",
    "LiveRestoreEnabled": False,
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"],
    "Warnings": ["WARNING: No swap limit support"],
    "ClientInfo": {"Context": "default", "Plugins": [COMPOSE], "Warnings": None},
}
NO_DAEMON = {  # 28.2 prints every member of a daemon empty
    "Driver": "",
    "DriverStatus": None,
    "RegistryConfig": None,
    "DockerRootDir": "",
    "HttpProxy": "",
    "ServerVersion": "",
    "LiveRestoreEnabled": False,
    "SecurityOptions": None,
    "ClientInfo": {"Plugins": [COMPOSE]},
}


def answer(*, tools: str = TOOLS, client: str = CLIENT, said: str = "", **changes: Any) -> str:  # noqa: ANN401
    """COMMAND's output on a host with docker, other in some members of `docker info`."""
    return f"{tools}{UNIT}{client}info={json.dumps({**INFO, **changes})}\n\n{said}end=\n"


def test_an_engine_at_work() -> None:
    assert docker.parse(answer()) == Docker(
        source="package",
        missing=(),
        active=True,
        enabled=True,
        client="26.1.5+dfsg1",
        server="26.1.5+dfsg1",
        compose="2.26.1-4",
        error=None,
        data_root="/var/lib/docker",
        storage_driver="overlay2",
        containerd_store=False,
        live_restore=False,
        userns=False,
        rootless=False,
        swarm=False,
        firewall=None,
        registry_mirrors=("https://mirror.lan",),
        insecure_registries=("registry.lan:5000", "10.0.0.0/8"),
        http_proxy="http://***@proxy:3128",
        https_proxy=None,
        no_proxy="localhost,.lan",
        linked_roots={},
    )


def test_a_bare_host_has_no_engine() -> None:
    found = docker.parse("LoadState=not-found\nActiveState=inactive\nUnitFileState=\nend=\n")
    assert (found.source, found.installed, found.active, found.enabled) == (
        "none",
        False,
        False,
        False,
    )
    assert (found.client, found.server, found.compose, found.error) == (None,) * 4


@pytest.mark.parametrize(
    ("info", "said", "error"),
    [
        pytest.param({"ServerErrors": [DOWN], "ClientInfo": {}}, "", DOWN, id="20.10 is down"),
        pytest.param(NO_DAEMON, f"said={DOWN}\n", DOWN, id="28.2 is down"),
        pytest.param(NO_DAEMON, f"said={DENIED}\n", DENIED, id="permission denied"),
        pytest.param({"ServerErrors": ["a\nb", "c"]}, "", "a b c", id="several lines"),
        pytest.param({}, "", "no answer within 20 s", id="no word"),
    ],
)
def test_without_a_daemon_the_client_is_known_and_says_why(
    info: dict[str, Any], said: str, error: str
) -> None:
    found = docker.parse(f"{TOOLS}{UNIT}{CLIENT}info={json.dumps(info)}\n{said}end=\n")
    assert (found.client, found.server, found.error) == ("26.1.5+dfsg1", None, error)
    assert (found.live_restore, found.data_root, found.storage_driver) == (None, None, None)
    assert (found.registry_mirrors, found.insecure_registries) == ((), ())


def test_a_daemon_that_hangs_is_no_daemon_that_answers() -> None:
    found = docker.parse(f"{TOOLS}{UNIT}{CLIENT}\nend=\n")
    assert (found.server, found.error) == (None, "no answer within 20 s")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("userns", ["name=seccomp,profile=builtin", "name=userns"]),
        ("rootless", ["name=rootless", "name=cgroupns"]),
    ],
)
def test_a_daemon_that_is_not_root_on_the_host_is_told(name: str, options: list[str]) -> None:
    found = docker.parse(answer(SecurityOptions=options))
    assert (found.userns, found.rootless) == (name == "userns", name == "rootless")


def test_the_rules_that_docker_sets_are_told() -> None:
    backend = {"Driver": "nftables", "Info": [["ReloadedAt", "2026-11-30T01:02:03Z"]]}
    assert docker.parse(answer(FirewallBackend=backend)).firewall == "nftables"


def test_containerds_store_is_told_by_its_driver() -> None:
    status = [["driver-type", "io.containerd.snapshotter.v1"]]
    found = docker.parse(answer(Driver="overlayfs", DriverStatus=status))
    assert (found.storage_driver, found.containerd_store) == ("overlayfs", True)


@pytest.mark.parametrize(
    ("text", "source", "installed"),
    [
        pytest.param(answer(tools=""), "package", False, id="the unit alone"),
        pytest.param(
            answer(tools=TOOLS.replace("/usr/bin", "/usr/local/bin")), "other", True, id="by hand"
        ),
        pytest.param(
            answer(tools="tool_docker=/snap/bin/docker\n").replace("/usr/sbin", "/snap/x"),
            "snap",
            False,
            id="snap",
        ),
        pytest.param("tool_snap=/snap/bin/docker\nend=\n", "snap", False, id="snap, not in PATH"),
        pytest.param(
            "tool_docker=/usr/bin/docker\ntool_podman=/usr/bin/podman\n"
            "client=podman version 5.4.2\ninfo={}\nend=\n",
            "podman",
            False,
            id="podman under the name docker",
        ),
        pytest.param("tool_podman=/usr/bin/podman\nend=\n", "none", False, id="podman beside it"),
        pytest.param(
            f"tool_dockerd=/usr/sbin/dockerd\n{UNIT}end=\n",
            "package",
            False,
            id="a daemon without a client",
        ),
    ],
)
def test_where_an_engine_comes_from(text: str, source: str, installed: bool) -> None:
    found = docker.parse(text)
    assert (found.source, found.installed) == (source, installed)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param(answer().removesuffix("end=\n"), id="cut"),
        pytest.param(answer().replace("info={", "info={{"), id="no JSON"),
        pytest.param(answer(SecurityOptions="name=userns"), id="another type"),
        pytest.param(answer(RegistryConfig={"IndexConfigs": {"a": 1}}), id="another form"),
    ],
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        docker.parse(text)


@given(st.lists(st.sampled_from(answer().splitlines(keepends=True)) | st.text(max_size=20)))
def test_no_text_raises_anything_else(lines: list[str]) -> None:
    with suppress(ParseError):
        docker.parse("".join(lines) + "\nend=\n")
