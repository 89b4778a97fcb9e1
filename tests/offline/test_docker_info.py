"""`docker info`, in both of its forms and of every age."""

import json
from dataclasses import astuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import stack
from tests.support.samples import sample

from apuhost.probes import ParseError
from apuhost.probes.docker_info import DockerInfo, parse
from apuhost.probes.plain_text import plain

SNAPSHOTTER = "driver-type: io.containerd.snapshotter.v1"
NOTHING = (None, None, None, (), ())

NEW = f"""\
Client: Docker Engine - Community
 Version:    29.0.1
 Context:    default
 Debug Mode: false
 Plugins:
  compose: Docker Compose (Docker Inc.)
    Version:  v2.40.3

Server:
 Containers: 1
  Running: 1
 Server Version: 29.0.1
 Storage Driver: overlayfs
  {SNAPSHOTTER}
 Logging Driver: json-file
 Insecure Registries:
  registry.example:5000
  ::1/128
  127.0.0.0/8
 Registry Mirrors:
  https://mirror.example/
  http://192.0.2.7:5000/
 Live Restore Enabled: true
 Firewall Backend: iptables
"""

OLD = """\
Containers: 3
 Running: 0
Images: 1
Server Version: 1.12.6
Storage Driver: devicemapper
 Pool Name: docker-253:0-1234-pool
Logging Driver: json-file
Plugins:
 Volume: local
Docker Root Dir: /var/lib/docker
Registry: https://index.docker.io/v1/
WARNING: bridge-nf-call-iptables is disabled
Insecure Registries:
 127.0.0.0/8
"""

DOWN = """\
Client: Docker Engine - Community
 Version:    27.1.1
 Context:    default

Server:
ERROR: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?
errors pretty printing info
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("", NOTHING, id="empty"),
        pytest.param(
            NEW,
            (
                "29.0.1",
                "overlayfs",
                True,
                ("https://mirror.example/", "http://192.0.2.7:5000/"),
                ("registry.example:5000", "::1/128", "127.0.0.0/8"),
            ),
            id="containerd's store",
        ),
        pytest.param(OLD, ("1.12.6", "devicemapper", False, (), ("127.0.0.0/8",)), id="1.12"),
        pytest.param(f"{OLD}{NEW}", astuple(parse(NEW)), id="two outputs: the last"),
        pytest.param(DOWN, NOTHING, id="no daemon"),
        pytest.param(
            "Cannot connect to the Docker daemon at unix:///run/docker.sock.\n",
            NOTHING,
            id="no daemon, 20.10 as JSON",
        ),
        pytest.param(
            "Registry Mirrors:\nhttps://mirror.example/\nLive Restore Enabled: false\n",
            (None, None, None, ("https://mirror.example/",), ()),
            id="without its margins",
        ),
        pytest.param(
            " Storage Driver: overlayfs\n Logging Driver: json-file\n",
            (None, "overlayfs", None, (), ()),
            id="lines by grep: which store is not told",
        ),
        pytest.param(
            " Storage Driver: overlay2\n", (None, "overlay2", False, (), ()), id="a driver's name"
        ),
        pytest.param(
            " Storage Driver: btrfs\n  Btrfs: \n Logging Driver: json-file\n",
            (None, "btrfs", False, (), ()),
            id="btrfs of Docker's own",
        ),
        pytest.param(
            f" Storage Driver: overlayfs\n  {SNAPSHOTTER[:20]}",
            (None, "overlayfs", None, (), ()),
            id="cut in the driver's lines",
        ),
        pytest.param(
            f"\x1b[1m{NEW.partition(' Logging')[0]}\0",
            ("29.0.1", "overlayfs", True, (), ()),
            id="escape codes, NUL, cut",
        ),
    ],
)
def test_text(text: str, found: tuple[object, ...]) -> None:
    assert parse(text) == DockerInfo(*found)  # type: ignore[arg-type]


def info(**members: Any) -> str:  # noqa: ANN401
    return json.dumps({**stack.INFO, **members})


REGISTRIES = {
    "InsecureRegistryCIDRs": ["::1/128", "127.0.0.0/8"],
    "IndexConfigs": {
        "docker.io": {"Name": "docker.io", "Mirrors": [], "Secure": True, "Official": True},
        "registry.example:5000": {"Name": "registry.example:5000", "Secure": False},
    },
    "Mirrors": ["https://mirror.example/"],
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(info(), ("26.1.5+dfsg1", "overlay2", False, (), ("::1/128",)), id="26.1"),
        pytest.param(
            info(
                ServerVersion="29.0.1",
                Driver="overlayfs",
                DriverStatus=[["driver-type", "io.containerd.snapshotter.v1"]],
                RegistryConfig=REGISTRIES,
            ),
            (
                "29.0.1",
                "overlayfs",
                True,
                ("https://mirror.example/",),
                ("registry.example:5000", "::1/128", "127.0.0.0/8"),
            ),
            id="containerd's store",
        ),
        pytest.param(
            '{"ID":"","Driver":"","DriverStatus":null,"ServerVersion":"","RegistryConfig":null,'
            '"ServerErrors":["Cannot connect"]}',
            NOTHING,
            id="no daemon",
        ),
        pytest.param('{"ClientInfo":{"Debug":false}}', NOTHING, id="no daemon, 20.10"),
        pytest.param(
            f"WARNING: no swap limit\n{json.dumps(json.loads(info()), indent=2)}\n$ ",
            ("26.1.5+dfsg1", "overlay2", False, (), ("::1/128",)),
            id="jq, with a warning and a prompt",
        ),
        pytest.param(
            '{"Driver":"overlayfs","DriverStatus":[["driver-ty',
            (None, "overlayfs", None, (), ()),
            id="cut",
        ),
        pytest.param(
            '{"ServerVersion":26,"Driver":[],"DriverStatus":[1,["a"]],"RegistryConfig":'
            '{"Mirrors":[1,null,"x"],"IndexConfigs":{"a":1,"b":{"Secure":"no"}}}}',
            (None, None, None, ("x",), ()),
            id="other types",
        ),
    ],
)
def test_json(text: str, found: tuple[object, ...]) -> None:
    assert parse(text) == DockerInfo(*found)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"insecure-registries": []}', id="daemon.json"),
        pytest.param("host:\n  arch: amd64\nstore:\n  graphDriverName: overlay\n", id="podman"),
        pytest.param('{"host": {"arch": "amd64"}, "version": {}}', id="podman, JSON"),
        pytest.param("Client:\n Version: 29.0.1\n", id="docker version"),
        pytest.param("● docker.service - Docker Application Container Engine\n", id="systemctl"),
    ],
)
def test_something_else(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_a_real_tail() -> None:
    found = parse(sample("docker/05-docker-info-tail-mirror-slash-insecure.txt"))
    assert len(found.registry_mirrors) == 1
    assert found.registry_mirrors[0].startswith("https://")
    assert found.insecure_registries == ("127.0.0.0/8",)
    assert (found.server_version, found.storage_driver, found.containerd_store) == (None,) * 3


@pytest.mark.parametrize(
    "name",
    [
        "01-systemctl-status-zh-locale-dockerd-unknown-directive.txt",
        "03-daemon-json-comment-leading-comma-invalid.txt",
    ],
)
def test_a_real_text_of_another_kind(name: str) -> None:
    text = sample(f"docker/{name}")
    with pytest.raises(ParseError):
        parse(text)


@given(st.text(), st.sampled_from((NEW, OLD, DOWN, info())), st.integers(0, 700))
def test_nothing_is_raised_or_invented(noise: str, text: str, end: int) -> None:
    given_text = plain(text[:end] + noise)
    try:
        found = parse(given_text)
    except ParseError:
        return
    told = (found.server_version, found.storage_driver, *found.registry_mirrors)
    assert all(word in given_text for word in (*told, *found.insecure_registries) if word)
