"""The probes' commands under the real sh: what they print is what their parsers read.

Programs that a test needs otherwise stand as scripts first in PATH; docker's own templates run
against a private dockerd where there is one.
"""

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest

from apuhost.probes import (
    ParseError,
    compose,
    container_packages,
    containers,
    docker,
    dpkg_status,
    firewall,
    model_store,
    ollama_api,
    units,
)
from apuhost.probes.container_commands import CHOOSE, CONTAINER
from apuhost.probes.containers import Port
from apuhost.probes.firewall import Firewall, Listening
from apuhost.probes.model_store import KEPT
from apuhost.probes.ollama_api import ListedModel, OllamaApi
from apuhost.round_trip import PROBE_TIMEOUT_S

pytestmark = pytest.mark.service

# All that the commands may need beside docker; every Debian has them.
TOOLS = (
    *("awk", "bash", "cat", "cut", "df", "find", "grep", "head", "readlink", "sed", "sh"),
    *("sort", "stat", "tail", "timeout", "tr", "wc"),
)
SECRET = "hunter2"


def run(command: str, environment: Mapping[str, str]) -> str:
    """What a command prints, run as a host runs it."""
    done = subprocess.run(
        ["timeout", str(PROBE_TIMEOUT_S), "sh", "-c", command],
        env={"LC_ALL": "C", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for word in (b"yntax error", b"bad substitution", b"unknown option"):
        assert word not in done.stderr
    return done.stdout.decode(errors="surrogateescape")


@dataclass(frozen=True)
class Host:
    """A PATH of the tools that every host has, and of scripts that stand for other programs."""

    folder: Path

    def program(self, name: str, script: str) -> None:
        """Put a program in PATH."""
        path = self.folder / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def run(self, command: str) -> str:
        """What a command prints here."""
        return run(command, {"PATH": str(self.folder)})


@pytest.fixture
def host(tmp_path: Path) -> Host:
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        (folder / tool).symlink_to(shutil.which(tool) or tool)
    return Host(folder)


def docker_says(host: Host, answers: Mapping[str, str]) -> None:
    """A docker that prints a text when its arguments have a word, and else fails."""
    cases = [f"*'{word}'*) cat <<'EOF'\n{text}\nEOF\n;;" for word, text in answers.items()]
    host.program("docker", "\n".join(['case "$*" in', *cases, "*) exit 1 ;;", "esac"]))


@dataclass(frozen=True)
class Daemon:
    """A dockerd of this test's own."""

    socket: Path

    @property
    def environment(self) -> dict[str, str]:
        """What leads docker's client to it."""
        return {"DOCKER_HOST": f"unix://{self.socket}", "PATH": os.environ["PATH"]}

    def docker(self, *arguments: str) -> str:
        """One docker command."""
        return subprocess.run(
            ["docker", *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def read(self, probe: ModuleType) -> str:
        """What a probe's command prints."""
        return run(probe.COMMAND, self.environment)


def _started(folder: Path) -> Iterator[Daemon]:
    arguments = ["--data-root", f"{folder}/data", "--exec-root", f"{folder}/run"]
    arguments += ["-H", f"unix://{folder}/sock", "--pidfile", f"{folder}/pid"]
    arguments += ["--storage-driver", "vfs", "--iptables=false", "--bridge=none"]
    arguments += ["--registry-mirror=http://mirror.lan:5000", "--insecure-registry=r.lan:5000"]
    arguments += ["--label", f'a="\\]{SECRET}', "--label", "b=c"]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            ["dockerd", *arguments],
            env={**os.environ, "HTTP_PROXY": f"http://me:{SECRET}@proxy:3128"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as process,
    ):
        try:
            for _ in range(300):
                if (folder / "sock").exists() or process.poll() is not None:
                    break
                time.sleep(0.1)
            if process.poll() is not None:
                pytest.skip("dockerd does not start on this machine")
            yield Daemon(folder / "sock")
        finally:
            process.terminate()
            process.wait(60)
            subprocess.run(["umount", f"{folder}/run/netns/default"], check=False)


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    if shutil.which("dockerd") is None or shutil.which("docker") is None or os.geteuid():
        pytest.skip("needs docker, as root")
    # The path of a socket has at most 107 bytes: pytest's folders are too deep.
    folder = Path(tempfile.mkdtemp(prefix="apuhost-"))
    try:
        yield from _started(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


LABELS = {
    "com.docker.compose.project": "ollama",
    "com.docker.compose.service": "ollama",
    "com.docker.compose.project.config_files": "/etc/apuhost/ollama/compose.yaml",
    "apuhost.made-from": "0a",
    "a.label": SECRET,
}
ENVIRONMENT = {
    "OLLAMA_KEEP_ALIVE": "-1",
    "OLLAMA_QUOTED": "a 'b' \"c\"\n\\d $(e)",
    "OLLAMA_REMOTES": f"http://me:{SECRET}@host/",
    "OLLAMA_API_KEY": SECRET,
    "LLAMA_ARG_IMAGE_MIN_TOKENS": "1024",
    "RADV_DEBUG": "nohiz",
    "HTTPS_PROXY": f"http://me:{SECRET}/@proxy:3128",
    "no_proxy": "localhost",
    "http_proxy": f"me:{SECRET}@proxy:3128",
    "DATABASE_PASSWORD": SECRET,
    "MY_OLLAMA_KEY": SECRET,
}


@pytest.fixture(scope="module")
def created(daemon: Daemon) -> Daemon:
    """The daemon with an image and two containers, the older one made as Compose makes it."""
    empty = ["tar", "-cf", f"{daemon.socket.parent}/empty.tar", "--files-from=/dev/null"]
    subprocess.run(empty, check=True)
    version = "LABEL org.opencontainers.image.version=24.04"
    source = f"LABEL org.opencontainers.image.source=https://{SECRET}@git.lan/x"
    changes = [
        word for text in (version, source, "LABEL a=b", 'CMD ["x"]') for word in ("-c", text)
    ]
    daemon.docker("import", *changes, empty[2], "ollama/ollama:1")
    options = [f"--label={name}={value}" for name, value in LABELS.items()]
    options += [f"--env={name}={value}" for name, value in ENVIRONMENT.items()]
    options += ["--volume=ollama:/root/.ollama", "--volume=/tmp:/ca:ro", "--device=/dev/null"]
    options += ["--publish=127.0.0.1:11434:11434", "--restart=unless-stopped", "--group-add=992"]
    daemon.docker("import", empty[2], "unused:1")
    daemon.docker("create", "--name=ollama", "--network=none", *options, "ollama/ollama:1")
    daemon.docker("create", "--name=other", "--network=none", "ollama/ollama:1")
    return daemon


def test_docker_tells_of_its_containers_and_no_secret(created: Daemon) -> None:
    text = created.read(containers)
    assert SECRET not in text
    found = containers.parse(text)
    assert [container.name for container in found.containers] == ["other", "ollama"]
    ollama = found.ollama
    assert ollama is not None
    assert ollama.environment == {
        "OLLAMA_KEEP_ALIVE": "-1",
        "OLLAMA_QUOTED": ENVIRONMENT["OLLAMA_QUOTED"],
        "OLLAMA_REMOTES": "http://***@host/",
        "OLLAMA_API_KEY": "***",
        "LLAMA_ARG_IMAGE_MIN_TOKENS": "1024",
        "RADV_DEBUG": "nohiz",
        "HTTPS_PROXY": "http://***@proxy:3128",
        "no_proxy": "localhost",
        "http_proxy": "***@proxy:3128",
    }
    assert set(ollama.labels) == set(LABELS) - {"a.label"}
    assert (ollama.status, ollama.running, ollama.health) == ("created", False, None)
    assert (ollama.devices, ollama.group_add) == (("/dev/null",), ("992",))
    assert ollama.ports == (Port("11434/tcp", "127.0.0.1", 11434),)
    assert {(mount.type, mount.destination, mount.writable) for mount in ollama.mounts} == {
        ("volume", "/root/.ollama", True),
        ("bind", "/ca", False),
    }
    assert found.volumes == ("ollama",)
    tags = {tag for image in found.images.values() for tag in image.repo_tags}
    assert tags == {"ollama/ollama:1", "unused:1"}
    image = found.image_of(ollama)
    assert image is not None
    assert (image.repo_tags, image.architecture) == (("ollama/ollama:1",), "amd64")
    assert image.labels == {
        "org.opencontainers.image.version": "24.04",
        "org.opencontainers.image.source": "https://***@git.lan/x",
    }


def test_the_shell_chooses_the_container_that_the_record_chooses(created: Daemon) -> None:
    chosen = run(f"{CONTAINER} ollama_container", created.environment)
    ollama = containers.parse(created.read(containers)).ollama
    assert ollama is not None
    assert chosen == f"{ollama.id}\n"


def test_an_engine_tells_its_settings_and_no_secret(created: Daemon) -> None:
    text = created.read(docker)
    assert SECRET not in text
    found = docker.parse(text)
    assert (found.error, found.storage_driver) == (None, "vfs")
    assert found.client
    assert found.server
    assert found.registry_mirrors == ("http://mirror.lan:5000",)
    assert found.insecure_registries == ("r.lan:5000",)
    assert found.http_proxy == "http://***@proxy:3128"


def test_a_container_that_does_not_run_is_not_asked(created: Daemon) -> None:
    assert ollama_api.parse(created.read(ollama_api)).error == "its container is created"


def test_a_daemon_that_is_down_is_told_from_no_containers(daemon: Daemon, tmp_path: Path) -> None:
    nobody = Daemon(tmp_path / "none")
    with pytest.raises(ParseError, match=r"does not answer: \w+"):
        containers.parse(nobody.read(containers))
    found = docker.parse(nobody.read(docker))
    assert found.client
    assert found.server is None
    assert str(nobody.socket) in (found.error or "")
    assert ollama_api.parse(nobody.read(ollama_api)).error == "docker does not answer"
    assert run(f"{CONTAINER} ollama_container || echo no", nobody.environment) == "no\n"


def test_a_bare_host_has_neither_engine_nor_containers(host: Host) -> None:
    assert containers.parse(host.run(containers.COMMAND)).containers == ()
    assert docker.parse(host.run(docker.COMMAND)).source == "none"
    assert ollama_api.parse(host.run(ollama_api.COMMAND)).error == "no container runs Ollama"


def test_podman_under_the_name_docker_is_told(host: Host) -> None:
    docker_says(host, {"--version": "podman version 5.4.2"})
    host.program("podman", "exit 1")
    assert docker.parse(host.run(docker.COMMAND)).source == "podman"


def test_the_unit_of_the_daemon_is_read(host: Host) -> None:
    host.program("dockerd", "exit 1")
    host.program(
        "systemctl",
        """case "$*" in
*ExecStart*) echo 'ExecStart={ path=/usr/sbin/dockerd ; argv[]=/usr/sbin/dockerd -H x ; a=b }' ;;
*) printf 'LoadState=loaded\\nActiveState=active\\nUnitFileState=enabled\\n' ;;
esac""",
    )
    text = host.run(docker.COMMAND)
    found = docker.parse(text)
    assert "argv" not in text
    assert (found.active, found.enabled, found.installed) == (True, True, False)


ROWS = [
    "{0}\ttrue\t/old\t\tollama/ollama:1",
    "{0}\tfalse\t/ollama\t\tnginx",
    "{0}\ttrue\t/webui\topen-webui\tghcr.io/x/ollama-webui:1",
    "{0}\ttrue\t/ai\tollama\tnginx",
    "{0}\tfalse\t/stopped\t\tlocalhost:5000/ollama@sha256:ab",
]


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [
        pytest.param([], None, id="no container"),
        pytest.param([2], None, id="a like name"),
        pytest.param([2, 4], 4, id="by its image"),
        pytest.param([4, 0], 0, id="running first"),
        pytest.param([0, 1], 1, id="name first"),
        pytest.param([0, 1, 3], 3, id="a running one of two that are named"),
    ],
)
def test_the_container_that_runs_ollama(host: Host, rows: list[int], chosen: int | None) -> None:
    ids = [f"{row}" * 64 for row in rows]
    table = "\n".join(ROWS[row].format(id_) for row, id_ in zip(rows, ids, strict=True))
    docker_says(host, {"ps -aq": "\n".join(ids), "inspect": table})
    printed = host.run(f"{CONTAINER} ollama_container").split()
    assert printed == ([] if chosen is None else [f"{chosen}" * 64])


def test_an_image_without_a_tag_is_told_of(host: Host) -> None:
    """Pulled by its digest it has none, and Docker 29 hides it from a plain `docker image ls`."""
    members = {"id": "sha256:1a", "repo_digests": ["ollama/ollama@sha256:2b"], "repo_tags": []}
    image = f"image {json.dumps({**members, 'architecture': 'amd64'})}"
    docker_says(
        host, {"ps -aq": "", "image ls -aq": "sha256:1a", "image inspect": image, "volume": ""}
    )
    assert list(containers.parse(host.run(containers.COMMAND)).images) == ["sha256:1a"]


@pytest.mark.parametrize("silent", [False, True])
def test_a_script_of_many_probes_asks_docker_once_which_it_is(host: Host, silent: bool) -> None:
    docker_says(host, {} if silent else {"ps -aq": "1" * 64, "inspect": ROWS[0].format("1" * 64)})
    asked = f"{CHOOSE}\nrm {host.folder}/docker\n{CONTAINER}ollama_container || echo refused"
    assert host.run(asked).strip() == ("refused" if silent else "1" * 64)


HTTP = b"HTTP/1.0 200 OK\r\n\r\n"
ANSWERS = {
    b"/api/version": HTTP + b'{"version":"0.34.4"}',
    b"/api/tags": HTTP + b'{"models":[{"name":"m:latest","digest":"ab","size":3}]}',
    b"/api/ps": HTTP + b'{"models":[]}',
}


@dataclass(frozen=True)
class Server:
    """A port on loopback that answers by path, and the requests that it got."""

    port: int
    requests: list[bytes]


def _request(connection: socket.socket) -> bytes:
    """A server that closes before it has read all resets the connection: its answer is lost."""
    request = b""
    while not request.endswith(b"\r\n\r\n"):
        request += connection.recv(4096)
    return request


def _serve(listener: socket.socket, answers: Mapping[bytes, bytes], requests: list[bytes]) -> None:
    held = []  # a connection without an answer stays open
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        requests.append(_request(connection))
        answer = answers.get(requests[-1].split()[1])
        if answer is None:
            held.append(connection)
            continue
        with closing(connection):
            connection.sendall(answer)


def serving(answers: Mapping[bytes, bytes], host: Host, at: str = "127.0.0.1") -> Server:
    """A server, and a docker that says its container publishes it on every address."""
    family = socket.AF_INET6 if ":" in at else socket.AF_INET
    listener = socket.create_server((at, 0), family=family)
    server = Server(listener.getsockname()[1], [])
    threading.Thread(target=_serve, args=(listener, answers, server.requests), daemon=True).start()
    everywhere = "::" if ":" in at else "0.0.0.0"
    published(host, f"net_*\n9/udp 9 0.0.0.0\n11434/tcp {server.port} {everywhere}")
    return server


def published(host: Host, mode_and_ports: str) -> None:
    """A docker with one container, which runs."""
    docker_says(
        host,
        {
            "ps -aq": "a1",
            "State.Running": "a1\ttrue\t/ollama\t\tollama/ollama",
            "NetworkMode": f"a1 running {mode_and_ports}",
        },
    )


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_ollama_is_asked_where_its_container_publishes_it(host: Host, address: str) -> None:
    try:
        server = serving(ANSWERS, host, address)
    except OSError:
        pytest.skip("no IPv6 on this machine")
    found = ollama_api.parse(host.run(ollama_api.COMMAND))
    shown = f"[{address}]" if ":" in address else address
    assert found == OllamaApi(
        f"{shown}:{server.port}", True, "0.34.4", (ListedModel("m:latest", "ab", 3),), (), None
    )
    assert server.requests == [
        b"GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n" % path for path in ANSWERS
    ]


@pytest.mark.parametrize(
    ("environment", "shown"),
    [
        pytest.param('"OLLAMA_HOST=0.0.0.0:PORT"', "127.0.0.1", id="any address"),
        pytest.param('"OLLAMA_HOST=http://127.0.0.1:PORT/"', "127.0.0.1", id="a URL"),
        pytest.param('"OLLAMA_HOST=[::]:PORT"', "[::1]", id="any IPv6 address"),
    ],
)
def test_in_the_hosts_network_ollamas_own_address_counts(
    host: Host, environment: str, shown: str
) -> None:
    port = serving(ANSWERS, host).port
    published(host, f'host\nenv {environment.replace("PORT", str(port))}\nenv "A=b"')
    found = ollama_api.parse(host.run(ollama_api.COMMAND))
    assert found.address == f"{shown}:{port}"


def test_an_address_that_nobody_listens_at(host: Host) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    published(host, f"bridge\n11434/tcp {port} 127.0.0.1")
    found = ollama_api.parse(host.run(ollama_api.COMMAND))
    assert (found.address, found.answered) == (f"127.0.0.1:{port}", False)
    assert found.error == "GET /api/version: no answer"


def test_a_container_that_publishes_nothing(host: Host) -> None:
    published(host, "bridge\n9/udp 9 0.0.0.0")
    found = ollama_api.parse(host.run(ollama_api.COMMAND))
    assert found.error == "its container publishes no port"


LIMITS = {f"timeout {ollama_api.ANSWER_TIMEOUT_S} ": "timeout 1 "}
BIG = b'{"version":"' + b"9" * 5_000_000 + b'"}'


@pytest.mark.parametrize(
    ("answer", "error", "asked"),
    [
        pytest.param(None, "no answer", 1, id="no answer in time"),
        pytest.param(b"", "no answer", 1, id="a closed connection"),
        pytest.param(b"HTTP/1.1 404 Not Found\r\n\r\n", "HTTP 404", 3, id="an HTTP error"),
        pytest.param(b"\x00\xff\n==> 3 x\n", "what answers does not speak HTTP", 3, id="garbage"),
        pytest.param(HTTP + BIG, "no JSON", 3, id="no end"),
        pytest.param(HTTP[:-2] + b"Content-Length: 9999\r\n\r\n{}", "cut after 2", 3, id="cut"),
    ],
)
def test_another_answer_is_no_answer(
    host: Host, answer: bytes | None, error: str, asked: int
) -> None:
    answers = {path: reply for path, reply in ANSWERS.items() if path != b"/api/version"}
    server = serving(answers if answer is None else {**answers, b"/api/version": answer}, host)
    command = ollama_api.COMMAND
    for limit, short in LIMITS.items():
        command = command.replace(limit, short)
    found = ollama_api.parse(host.run(command))
    assert (found.answered, found.version) == (False, None)
    assert (found.error or "").startswith(f"GET /api/version: {error}")
    assert len(server.requests) == asked


def test_chunks_are_joined(host: Host) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b'e\r\n{"version":"0.\r\n5\r\n34.4"\r\n1\r\n}\r\n0\r\n\r\n'
    serving({**ANSWERS, b"/api/version": head + chunks}, host)
    assert ollama_api.parse(host.run(ollama_api.COMMAND)).version == "0.34.4"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


CONFIG = b'{"model_format":"gguf","requires":"0.30.0"}'
PARAMETERS = b'{"num_ctx":4096,"stop":["a b"]}'
OTHER_PARAMETERS = b'{"temperature":0.5}\n'


def manifest(parameters: bytes, end: bytes = b"", indent: int | None = None) -> bytes:
    """A manifest of a 3-byte model, written as its registry likes to."""
    blobs = {"model": b"gguf"[:3], "params": parameters}
    layers = [
        {
            "mediaType": f"application/vnd.ollama.image.{kind}",
            "digest": f"sha256:{sha256(content)}",
            "size": len(content),
        }
        for kind, content in blobs.items()
    ]
    config = {
        "mediaType": "application/vnd.docker.container.image.v1+json",
        "digest": f"sha256:{sha256(CONFIG)}",
        "size": len(CONFIG),
    }
    text = json.dumps({"layers": layers, "config": config}, indent=indent)
    return text.encode() + end


MANIFESTS = {
    "registry.ollama.ai/library/m/latest": manifest(PARAMETERS),
    "registry.ollama.ai/me/m.b/1": manifest(OTHER_PARAMETERS, b"\n", indent=1),
    "hub.lan:5000/library/m/latest": manifest(PARAMETERS, b"\r\n \n\n"),
    "hub.lan:5000/library/broken/x": b"\x00\xff\n==> 3 x\n",
}


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    """The folder that is mounted as ~/.ollama; blanks in its path must not matter."""
    folder = tmp_path / "a volume" / "_data"
    for path, content in MANIFESTS.items():
        file = folder / "models" / "manifests" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    blobs = folder / "models" / "blobs"
    blobs.mkdir()
    for content in (b"ggu", CONFIG, PARAMETERS, OTHER_PARAMETERS):
        (blobs / f"sha256-{sha256(content)}").write_bytes(content)
    (blobs / f"sha256-{'0' * 64}-partial-1").write_bytes(b"")
    (folder / "id_ed25519").write_text(SECRET)
    return folder


def stored(host: Host, mounts: str, *, mounted: bool = True) -> str:
    """What the probe prints, with a container of these mounts or with a volume only."""
    answers = {"ps -aq": "a1", "State.Running": "a1\ttrue\t/ollama\t\tollama/ollama"}
    by_container = {**answers, ".Mounts": f"a1\n{mounts}"}
    by_volume = {"ps -aq": "", "volume inspect": mounts}
    docker_says(host, by_container if mounted else by_volume)
    text = host.run(model_store.COMMAND.replace(KEPT, f"{host.folder}/kept"))
    assert SECRET not in text
    return text.replace(f"{host.folder}/kept", KEPT)


def test_models_are_read_in_the_folder_that_is_mounted(host: Host, mount: Path) -> None:
    found = model_store.parse(stored(host, f"mount\t/root/.ollama\t{mount}\nmount\t/root\t/x"))
    assert found.directory == str(mount)
    assert found.owner == f"{os.getuid()}:{os.getgid()}"
    assert found.free_bytes
    assert {model.name: (model.digest, model.whole) for model in found.models} == {
        "m:latest": (sha256(MANIFESTS["registry.ollama.ai/library/m/latest"]), True),
        "me/m.b:1": (sha256(MANIFESTS["registry.ollama.ai/me/m.b/1"]), True),
        "hub.lan:5000/library/m:latest": (
            sha256(MANIFESTS["hub.lan:5000/library/m/latest"]),
            True,
        ),
    }
    parameters = {model.name: model.parameters for model in found.models}
    assert parameters["m:latest"] == {"num_ctx": 4096, "stop": ["a b"]}
    assert parameters["me/m.b:1"] == {"temperature": 0.5}
    assert {model.requires for model in found.models} == {"0.30.0"}
    assert found.broken == (f"{mount}/models/manifests/hub.lan:5000/library/broken/x",)
    assert found.partial == (f"sha256-{'0' * 64}-partial-1",)
    assert found.blobs[f"sha256-{sha256(PARAMETERS)}"] == len(PARAMETERS)


@pytest.mark.parametrize(
    ("setting", "mounted"),
    [
        pytest.param("/models/", "/models\t{}/models", id="a mount of its own"),
        pytest.param("/data/ollama/models", "/data/ollama\t{}", id="below a mount"),
    ],
)
def test_a_store_elsewhere(host: Host, mount: Path, setting: str, mounted: str) -> None:
    place = f'env "OLLAMA_MODELS={setting}"\nmount\t{mounted.format(mount)}'
    found = model_store.parse(stored(host, place))
    assert (found.directory, len(found.models)) == (str(mount), 3)


@pytest.mark.parametrize(
    ("setting", "mounted"),
    [
        pytest.param("/data/blobs", "/data\t{}/models", id="under another name"),
        pytest.param("/data/x", "/elsewhere\t{}/models", id="in no mount"),
        pytest.param("/models", "/mod\t{}/models", id="a mount of a shorter name"),
    ],
)
def test_a_store_in_no_folder_of_the_host(
    host: Host, mount: Path, setting: str, mounted: str
) -> None:
    place = f'env "OLLAMA_MODELS={setting}"\nmount\t{mounted.format(mount)}'
    found = model_store.parse(stored(host, place))
    assert (found.directory, found.models) == (None, ())


def test_without_a_container_the_volume_is_read(host: Host, mount: Path) -> None:
    found = model_store.parse(stored(host, str(mount), mounted=False))
    assert (found.directory, len(found.models)) == (str(mount), 3)
    assert model_store.parse(stored(host, "", mounted=False)).directory is None


def test_a_volume_that_ollama_has_not_filled_yet(host: Host, tmp_path: Path) -> None:
    found = model_store.parse(stored(host, f"mount\t/root/.ollama\t{tmp_path}"))
    assert (found.directory, found.models, found.blobs) == (str(tmp_path), (), {})
    assert found.free_bytes


@pytest.mark.parametrize("link", ["latest", "m", "library", "registry.ollama.ai", "manifests"])
def test_a_manifest_behind_a_link_or_no_plain_file_is_passed_over(
    host: Host, mount: Path, link: str
) -> None:
    path = mount / "models/manifests/registry.ollama.ai/library/m/latest"
    place = next(each for each in (path, *path.parents) if each.name == link)
    elsewhere = host.folder / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    os.mkfifo(mount / "models/manifests/hub.lan:5000/library/m/fifo")
    began = time.monotonic()
    found = model_store.parse(stored(host, f"mount\t/root/.ollama\t{mount}"))
    assert time.monotonic() - began < PROBE_TIMEOUT_S / 2
    assert "m:latest" not in {model.name for model in found.models}


def test_a_store_behind_a_link_of_the_hosts_is_read_and_of_the_containers_not(
    host: Host, mount: Path
) -> None:
    linked = host.folder / "linked"
    linked.symlink_to(mount)
    assert len(model_store.parse(stored(host, f"mount\t/root/.ollama\t{linked}")).models) == 3
    (mount / "models").rename(host.folder / "elsewhere")
    (mount / "models").symlink_to(host.folder / "elsewhere")
    assert model_store.parse(stored(host, f"mount\t/root/.ollama\t{mount}")).models == ()


def test_a_blob_that_is_a_link_or_no_plain_file_is_not_read(host: Host, mount: Path) -> None:
    blobs = mount / "models/blobs"
    secret = host.folder / "shadow"
    secret.write_text(SECRET)
    for content in (CONFIG, PARAMETERS):
        (blobs / f"sha256-{sha256(content)}").unlink()
    (blobs / f"sha256-{sha256(CONFIG)}").symlink_to(secret)
    os.mkfifo(blobs / f"sha256-{sha256(PARAMETERS)}")
    found = model_store.parse(stored(host, f"mount\t/root/.ollama\t{mount}"))
    assert {model.requires for model in found.models} == {None}
    assert f"sha256-{sha256(CONFIG)}" not in found.blobs


def test_kept_manifests_are_read_without_any_store(host: Host) -> None:
    kept = host.folder / "kept" / "registry.ollama.ai" / "library" / "m" / "latest"
    kept.mkdir(parents=True)
    (kept / "manifest").write_bytes(MANIFESTS["hub.lan:5000/library/m/latest"])
    (kept / "ollama.image.params").write_bytes(PARAMETERS)
    found = model_store.parse(stored(host, "", mounted=False))
    assert [(model.name, model.digest) for model in found.kept] == [
        ("m:latest", sha256(MANIFESTS["hub.lan:5000/library/m/latest"]))
    ]


def test_a_store_that_docker_does_not_tell_is_unknown(host: Host) -> None:
    docker_says(host, {})
    with pytest.raises(ParseError, match="docker does not answer"):
        model_store.parse(host.run(model_store.COMMAND))


def test_docker_tells_where_the_store_lies(created: Daemon) -> None:
    found = model_store.parse(created.read(model_store))
    assert found.directory == f"{created.socket.parent}/data/volumes/ollama/_data"
    assert found.free_bytes


STATUS = """\
Package: mesa-vulkan-drivers
Status: install ok installed
Architecture: amd64
Version: 25.2.8-0ubuntu0.24.04.1
Description: Mesa Vulkan graphics drivers
 Version: 1

Package: libvulkan1
Status: install ok installed
Version: 1.3.275.0-1build1

Package: mesa-va-drivers
Status: deinstall ok config-files
Version: 24.0.5

Package: bash
Status: install ok installed
Version: 5.2
"""


def listed(host: Host, folder: Path, pid: int = 1) -> str:
    """What the probe prints of a container whose first process has this folder for its root."""
    running = {"ps -aq": "a1", "State.Running": "a1\ttrue\t/ollama\t\tollama/ollama"}
    docker_says(host, {**running, "State.Pid": str(pid)})
    assert "/proc/$pid/root" in container_packages.COMMAND
    return host.run(container_packages.COMMAND.replace("/proc/$pid/root", f"'{folder}'"))


def test_a_containers_mesa_is_read_without_running_anything_in_it(
    host: Host, tmp_path: Path
) -> None:
    status = tmp_path / "var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    status.write_text(STATUS)
    assert container_packages.parse(listed(host, tmp_path)).installed == {
        "mesa-vulkan-drivers": "25.2.8-0ubuntu0.24.04.1",
        "libvulkan1": "1.3.275.0-1build1",
    }
    status.write_text("")
    assert container_packages.parse(listed(host, tmp_path)).installed == {}
    status.write_bytes(b"Package: mesa-x\x00\n\xff" * 100_000)
    assert container_packages.parse(listed(host, tmp_path)).installed == {}
    status.write_text("Package: mesa-x\nStatus: install ok installed\nVersion: 1\n\n" * 200)
    with pytest.raises(ParseError, match="not listed to the end"):
        container_packages.parse(listed(host, tmp_path))


@pytest.mark.parametrize("place", ["var", "var/lib", "var/lib/dpkg", "var/lib/dpkg/status"])
def test_a_list_behind_a_link_is_refused(host: Host, tmp_path: Path, place: str) -> None:
    status = tmp_path / "root/var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    status.write_text(STATUS)
    (tmp_path / "root" / place).rename(tmp_path / "elsewhere")
    (tmp_path / "root" / place).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ParseError, match=f"^/{place} is a link"):
        container_packages.parse(listed(host, tmp_path / "root"))


def test_a_list_that_is_too_long_is_refused(host: Host, tmp_path: Path) -> None:
    status = tmp_path / "var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    line = f"Description: {'x' * 1009}\n\n"
    status.write_text(f"{STATUS}\n{line * (8 * 1024)}"[: 8 * 1024 * 1024])
    assert len(container_packages.parse(listed(host, tmp_path)).installed or {}) == 2
    with status.open("a") as longer:
        longer.write("\n")
    with pytest.raises(ParseError, match="too long"):
        container_packages.parse(listed(host, tmp_path))


@pytest.mark.parametrize("version", ["1\x1b[2J", "1" * 81, "1" * 100_000, "1 2", ""])
def test_a_version_that_no_package_has_is_not_printed(
    host: Host, tmp_path: Path, version: str
) -> None:
    status = tmp_path / "var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    status.write_text(STATUS.replace("25.2.8-0ubuntu0.24.04.1", version))
    text = listed(host, tmp_path)
    assert text == "package libvulkan1 1.3.275.0-1build1\nend\n"


def test_a_container_that_stands_or_has_no_list_says_so(host: Host, tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="does not run"):
        container_packages.parse(listed(host, tmp_path, pid=0))
    with pytest.raises(ParseError, match="does not run"):
        container_packages.parse(listed(host, tmp_path / "gone"))
    assert container_packages.parse(listed(host, tmp_path)).installed == {}
    (tmp_path / "var/lib/dpkg/status").mkdir(parents=True)
    with pytest.raises(ParseError, match="no plain file"):
        container_packages.parse(listed(host, tmp_path))
    (tmp_path / "var/lib/dpkg/status").rmdir()
    os.mkfifo(tmp_path / "var/lib/dpkg/status")
    with pytest.raises(ParseError, match="no plain file"):
        container_packages.parse(listed(host, tmp_path))
    docker_says(host, {})
    with pytest.raises(ParseError, match="docker does not answer"):
        container_packages.parse(host.run(container_packages.COMMAND))
    docker_says(host, {"ps -aq": ""})
    assert container_packages.parse(host.run(container_packages.COMMAND)).installed is None


PEM = "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder that stands in for /, with what a host of ours has."""
    files = {
        "etc/docker/daemon.json": "{}",
        "etc/systemd/system/docker.service.d/proxy.conf": "[Service]\n",
        "etc/systemd/system/apuhost-ollama.service": "[Unit]\r\n",
        "etc/systemd/system/other.service": SECRET,
        "etc/apt/apt.conf.d/zz-apuhost-proxy": 'x "y";\n',
        "etc/apuhost/ollama/compose.yaml": "services: {}",
        "etc/apuhost/ollama/.env": SECRET,
        "usr/local/lib/apuhost/firewall": "#!/bin/sh\n",
        "usr/local/share/ca-certificates/apuhost-site.crt": PEM.format("AA"),
        "etc/ssl/certs/ca-certificates.crt": PEM.format("BB") + PEM.format("AA"),
    }
    for path, text in files.items():
        (tmp_path / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / path).write_text(text)
    return tmp_path / "root"


def read_below(root: Path, host: Host, probe: ModuleType) -> str:
    """What a probe prints with its paths led into a folder."""
    command = probe.COMMAND
    for top in ("etc", "usr", "run"):
        command = re.sub(rf'(?<=[\s"])/{top}/', f"{root}/{top}/", command)
    text = host.run(command)
    assert SECRET not in text
    return re.sub(rf"^(==> \d+ ){root}/", r"\1/", text, flags=re.MULTILINE)


def started(host: Host, at: float) -> None:
    """A systemd whose dockerd began at a time."""
    shown = datetime.fromtimestamp(at, UTC).strftime("%a %Y-%m-%d %H:%M:%S.%f UTC")
    host.program(
        "systemctl",
        f"""case "$*" in
*us+utc*ExecMainStart*) echo 'ExecMainStartTimestamp={shown}' ;;
*ExecMainStart*) echo 'ExecMainStartTimestamp={shown[:-11]} UTC' ;;
*) printf 'Id=docker.service\\nNeedDaemonReload=no\\n\\nId=apuhost-ollama.service\\n' ;;
esac""",
    )


def test_our_files_are_read_as_they_are(host: Host, root: Path) -> None:
    started(host, time.time() + 5)
    text = read_below(root, host, units)
    found = units.parse(text)
    assert set(found.units) == {"docker.service", "apuhost-ollama.service"}
    assert found.text("/etc/systemd/system/apuhost-ollama.service") == "[Unit]\r\n"
    assert {file.path for file in found.files} == {
        "/etc/systemd/system/apuhost-ollama.service",
        "/usr/local/lib/apuhost/firewall",
        "/usr/local/share/ca-certificates/apuhost-site.crt",
        "/etc/apt/apt.conf.d/zz-apuhost-proxy",
    }
    assert (found.untrusted, found.newer_than_docker) == ((), ())
    project = compose.parse(read_below(root, host, compose))
    assert project.text("/etc/apuhost/ollama/compose.yaml") == "services: {}"


def test_what_dockerd_has_not_read_yet_is_told(host: Host, root: Path) -> None:
    started(host, time.time() - 60)
    found = units.parse(read_below(root, host, units))
    assert {Path(path).name for path in found.newer_than_docker} == {
        "daemon.json",
        "docker.service.d",
        "proxy.conf",
        "apuhost-site.crt",
    }
    (root / "run" / "apuhost").mkdir(parents=True)
    (root / "run" / "apuhost" / "docker-reloaded").touch()
    found = units.parse(read_below(root, host, units))
    assert {Path(path).name for path in found.newer_than_docker} == {
        "docker.service.d",
        "proxy.conf",
        "apuhost-site.crt",
    }, "a reload reads daemon.json alone"
    (root / "etc/docker/daemon.json").chmod(0o600)
    found = units.parse(read_below(root, host, units))
    assert "daemon.json" in {Path(path).name for path in found.newer_than_docker}


def test_a_drop_in_that_went_is_told(host: Host, root: Path) -> None:
    started(host, time.time())
    (root / "etc/systemd/system/docker.service.d/proxy.conf").unlink()
    found = units.parse(read_below(root, host, units))
    assert [Path(path).name for path in found.newer_than_docker] == ["docker.service.d"]


def test_what_was_written_in_the_second_of_the_start_was_read(host: Host, root: Path) -> None:
    started(host, time.time() + 0.05)
    time.sleep(0.1)
    assert units.parse(read_below(root, host, units)).newer_than_docker == ()


def test_a_certificate_that_nobody_trusts_yet_is_told(host: Host, root: Path) -> None:
    bundle = root / "etc/ssl/certs/ca-certificates.crt"
    started(host, time.time())
    bundle.write_text(PEM.format("BB"))
    assert len(units.parse(read_below(root, host, units)).untrusted) == 1
    bundle.unlink()
    assert len(units.parse(read_below(root, host, units)).untrusted) == 1
    certificate = root / "usr/local/share/ca-certificates/apuhost-site.crt"
    certificate.unlink()
    assert units.parse(read_below(root, host, units)).untrusted == ()
    (root / "etc/ssl/certs/apuhost-site.pem").symlink_to(certificate)
    assert len(units.parse(read_below(root, host, units)).untrusted) == 1


def test_a_host_without_systemd_has_no_units(host: Host, tmp_path: Path) -> None:
    found = units.parse(read_below(tmp_path, host, units))
    assert (found.units, found.files, found.newer_than_docker) == ({}, (), ())


def test_of_the_rules_only_dockers_chain_and_ours_are_read(host: Host) -> None:
    rules = ["-P INPUT DROP", f"-A INPUT -s {SECRET} -j ACCEPT"]
    rules += [f'-A FORWARD -i wg0 -m comment --comment "a \\"{SECRET}\\" b" -j ACCEPT']
    rules += [f"-A FORWARD -m comment --comment {SECRET} -j DOCKER-USER"]
    rules += ["-N DOCKER-USER", "-N DOCKER-USER-2", "-N APUHOST-OLLAMA"]
    rules += ["-A APUHOST-OLLAMA -j DROP", "-A DOCKER-USER -j APUHOST-OLLAMA"]
    nat = ["-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER"]
    nat += [
        f"-A DOCKER {each} --to-destination 172.18.0.2:11434"
        for each in (
            "-d 192.0.2.10/32 ! -i br-a1 -p tcp -m tcp --dport 11434 -j DNAT",
            "-p tcp -m tcp --dport 8434 -j DNAT",
            "-p udp -m udp --dport 53 -j DNAT",
        )
    ]
    told = "cat <<'EOF'\n{}\nEOF"
    program = f'case "$*" in *nat*) {told}\n;; *) {told}\n;; esac'
    host.program("iptables", program.format("\n".join(nat), "\n".join(rules)))
    host.program("ss", "echo 'LISTEN 0 4096 127.0.0.1:11434 0.0.0.0:*'")
    text = host.run(firewall.COMMAND)
    assert SECRET not in text
    found = firewall.parse(text)
    assert found.chains == {
        "FORWARD": ("-A FORWARD -i wg0 -j ACCEPT", "-A FORWARD -j DOCKER-USER"),
        "DOCKER-USER": ("-A DOCKER-USER -j APUHOST-OLLAMA",),
        "APUHOST-OLLAMA": ("-A APUHOST-OLLAMA -j DROP",),
    }
    assert found.led == {8434, 11434}
    assert found.listening == (Listening("127.0.0.1", 11434),)


def test_a_host_without_iptables_and_ss(host: Host) -> None:
    assert firewall.parse(host.run(firewall.COMMAND)) == Firewall(None, frozenset(), None, None)


def test_of_dockerds_flags_only_that_of_its_rules_is_read(host: Host) -> None:
    flags = ["--iptables=false", f"--registry-mirror=https://a:{SECRET}@hub.lan"]
    daemon = subprocess.Popen(["sh", "-c", "read line", "dockerd", *flags], stdin=subprocess.PIPE)
    try:
        host.program("systemctl", f"echo MainPID={daemon.pid}")
        text = host.run(firewall.COMMAND)
    finally:
        daemon.communicate()
    assert firewall.parse(text).without_rules == "--iptables=false"
    assert SECRET not in text


@pytest.mark.skipif(not shutil.which("dpkg"), reason="dpkg is not here")
def test_dpkgs_database_is_read_whole_and_smaller() -> None:
    found = dpkg_status.parse(run(dpkg_status.COMMAND, {"PATH": os.environ["PATH"]}))
    file = Path("/var/lib/dpkg/status").read_text(errors="surrogateescape")
    names = [line for line in file.splitlines() if line.startswith("Package: ")]
    assert [line for line in found.text.splitlines() if line.startswith("Package: ")] == names
    assert len(found.text) < len(file) / 2
    assert "Description" not in found.text
