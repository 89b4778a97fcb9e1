"""The probes' commands under the real sh: what they print is what their parsers read.

Programs that a test needs otherwise stand as scripts first in PATH; docker's own templates run
against a private dockerd where there is one.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from apuhost.host_facts import PROBE_TIMEOUT_S
from apuhost.probes import ParseError, containers, docker, ollama_api
from apuhost.probes.containers import CONTAINER, Port
from apuhost.probes.ollama_api import ListedModel, OllamaApi

pytestmark = pytest.mark.service

SYSTEM = (Path("/usr/bin"), Path("/usr/sbin"))
NOT_OF_THIS_MACHINE = {"docker", "dockerd", "podman", "systemctl", "iptables", "ip6tables", "ss"}
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
    """A PATH of this machine's programs, without the engine's, and with scripts of a test."""

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
    for program in (program for system in SYSTEM for program in system.iterdir()):
        if program.name not in NOT_OF_THIS_MACHINE and not (folder / program.name).is_symlink():
            (folder / program.name).symlink_to(program)
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
    arguments += [
        "--registry-mirror",
        "http://mirror.lan:5000",
        "--insecure-registry",
        "r.lan:5000",
    ]
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
    "a.label": SECRET,
}
ENVIRONMENT = {
    "OLLAMA_KEEP_ALIVE": "-1",
    "OLLAMA_QUOTED": "a 'b' \"c\"\n\\d $(e)",
    "OLLAMA_REMOTES": f"http://me:{SECRET}@host/",
    "OLLAMA_API_KEY": SECRET,
    "LLAMA_ARG_IMAGE_MIN_TOKENS": "1024",
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
