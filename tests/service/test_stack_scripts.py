"""The scripts that set up the stack as root, under the real sh, beside programs that are not real.

Ollama's API is a stub on loopback, docker, apt and systemctl are scripts that note their arguments.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from deploy import docker, models, ollama, packages, units
from tests.support.host_root import Done, Root
from tests.support.ollama_stub import free_port, ndjson
from tests.support.ollama_stub import ollama as stub

from apuhost import roles
from apuhost.changes import compose, docker_ce
from apuhost.changes import docker as changes
from apuhost.probes import ParseError
from apuhost.probes.files import TextFile, frame
from apuhost.probes.model_store import Offer, parse_offer

HERE = "127.0.0.1"
KIND = "application/vnd.ollama.image."
SUCCESS = ndjson({"status": "pulling manifest"}, {"status": "success"})
BODY = json.dumps({"model": "qwen3.6:35b-a3b", "stream": True})


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / "run").mkdir()
    (tmp_path / "bin").mkdir()
    return Root(tmp_path)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def layer(media_type: str, text: str) -> dict[str, object]:
    return {"mediaType": media_type, "digest": f"sha256:{sha256(text)}", "size": len(text)}


CONFIG = '{"model_format":"gguf","requires":"0.30.0"}'
PARAMS = '{"num_batch":2048,"stop":["<|im_end|>"]}'
MANIFEST_OBJECT = {
    "schemaVersion": 2,
    "config": layer("application/vnd.docker.container.image.v1+json", CONFIG),
    "layers": [layer(f"{KIND}model", "GGUF"), layer(f"{KIND}params", PARAMS)],
}
MANIFEST = json.dumps(MANIFEST_OBJECT, separators=(",", ":"))
BLOBS = {f"blobs/sha256:{sha256(text)}": text for text in (CONFIG, PARAMS)}

APT_HELPER = """
while [ "$1" != download-file ]; do shift; done
file={registry}/$(echo "$2" | sed 's~.*/v2/~~')
[ -e "$file" ] || {{ printf 'Err:1 %s\\n  404  Not Found\\nE: Download Failed\\n' "$2"; exit 100; }}
cat "$file" >"$3"
"""


@pytest.fixture
def registry(root: Root) -> Path:
    """What the registry has; apt's downloader copies from it."""
    folder = root.folder / "registry" / "library" / "qwen3.6"
    give(folder, {"manifests/35b-a3b": MANIFEST, **BLOBS})
    root.program("/usr/lib/apt/apt-helper", APT_HELPER.format(registry=root.folder / "registry"))
    return folder


def give(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def offer(root: Root, server: str = "https://registry.ollama.ai") -> Done:
    folder = root.path("/run/apuhost/offer-1")
    return root.run(models.OFFER, str(folder), f"{server}/v2/library/qwen3.6", "35b-a3b")


def offered(root: Root) -> Offer:
    found = sorted(root.path("/run/apuhost/offer-1").iterdir())
    return parse_offer(frame(tuple(TextFile(str(p), p.read_bytes().decode()) for p in found)))


def test_an_offer_is_the_manifest_with_its_config_and_parameters(
    root: Root, registry: Path
) -> None:
    done = offer(root)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = offered(root)
    assert found.digest == sha256(MANIFEST)
    assert found.requires == "0.30.0"
    assert found.parameters == json.loads(PARAMS)
    assert root.path("/run/apuhost/offer-1").stat().st_mode & 0o777 == 0o700
    assert [line.split(" ")[-2].partition("/v2/")[2] for line in root.said] == [
        "library/qwen3.6/manifests/35b-a3b",
        *(f"library/qwen3.6/{blob}" for blob in BLOBS),
    ]


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(json.dumps(MANIFEST_OBJECT, indent="\t"), id="with tabs"),
        pytest.param(json.dumps(MANIFEST_OBJECT, indent=2).replace("\n", "\r\n"), id="CRLF"),
        pytest.param(
            json.dumps(MANIFEST_OBJECT, separators=(",", ":"), sort_keys=True), id="digests first"
        ),
    ],
)
def test_an_offer_is_found_however_the_manifest_is_written(
    root: Root, registry: Path, manifest: str
) -> None:
    (registry / "manifests/35b-a3b").write_bytes(manifest.encode())
    assert offer(root).returncode == 0
    assert offered(root).parameters == json.loads(PARAMS)


def test_a_model_without_parameters_is_offered_without(root: Root, registry: Path) -> None:
    bare = {**MANIFEST_OBJECT, "layers": [layer(f"{KIND}model", "GGUF")]}
    give(registry, {"manifests/35b-a3b": json.dumps(bare)})
    assert offer(root).returncode == 0
    assert offered(root).parameters == {}


def test_a_blob_that_is_another_is_no_offer(root: Root, registry: Path) -> None:
    give(registry, dict.fromkeys(BLOBS, "{}"))
    done = offer(root)
    assert done.returncode == 1
    assert f"sha256:{sha256(CONFIG)}" in done.stderr
    assert "another" in done.stderr


def test_a_name_that_the_registry_does_not_have_is_told_in_its_words(
    root: Root, registry: Path
) -> None:
    (registry / "manifests/35b-a3b").unlink()
    done = offer(root)
    assert done.returncode == 1
    assert "404  Not Found" in done.stderr


def test_a_manifest_that_was_cut_is_no_offer(root: Root, registry: Path) -> None:
    give(registry, {"manifests/35b-a3b": MANIFEST[:-20]})
    offer(root)
    with pytest.raises(ParseError):
        offered(root)


class Registry(BaseHTTPRequestHandler):
    """A registry on loopback; notes what it is asked for."""

    asked: ClassVar[list[tuple[str, str | None]]] = []
    texts: ClassVar[dict[str, str]] = {}

    def do_GET(self) -> None:
        """Answer with a text, with less than it announces, or with 404."""
        self.asked.append((self.path, self.headers["Accept"]))
        text = self.texts.get(self.path.removeprefix("/v2/library/qwen3.6/"))
        content = (text or "").removeprefix("cut ").encode()
        self.send_response(200 if text is not None else 404)
        self.send_header("Content-Length", str(len(content) * (2 if "cut " in (text or "") else 1)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Root, str]:
    """A root with apt's real downloader, and a registry on loopback."""
    if not Path("/usr/lib/apt/apt-helper").exists():
        pytest.skip("apt is not here")
    direct = tmp_path / "apt.conf"
    direct.write_text('Acquire::http::Proxy "DIRECT";\nAcquire::Retries::Delay "false";\n')
    monkeypatch.setenv("APT_CONFIG", str(direct))
    (tmp_path / "run").mkdir()
    Registry.asked.clear()
    Registry.texts = {"manifests/35b-a3b": MANIFEST, **BLOBS}
    server = ThreadingHTTPServer((HERE, 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return Root(tmp_path, ("/run/apuhost",)), f"http://{HERE}:{server.server_port}"


def test_apts_own_downloader_fetches_an_offer(served: tuple[Root, str]) -> None:
    root, server = served
    done = offer(root, server)
    assert (done.returncode, done.stderr) == (0, "")
    assert offered(root).requires == "0.30.0"
    # `Accept: text/*`, which apt would say, excludes what a registry has.
    assert [accept for _, accept in Registry.asked] == [None] * 3


def test_apts_own_downloader_tells_what_the_registry_lacks(served: tuple[Root, str]) -> None:
    root, server = served
    Registry.texts = {}
    done = offer(root, server)
    assert done.returncode == 1
    assert "404" in done.stderr


def test_apts_own_downloader_takes_no_blob_that_was_cut(served: tuple[Root, str]) -> None:
    root, server = served
    Registry.texts = {
        "manifests/35b-a3b": MANIFEST,
        **{name: f"cut {BLOBS[name]}" for name in BLOBS},
    }
    done = offer(root, server)
    assert done.returncode != 0
    assert done.stderr


SOON = {"while sleep 1;": "while sleep 0.1;"}


class Pulling:
    """An offer that lies ready, and the store that a pull writes to."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.folder = root.path("/run/apuhost/offer-1")
        self.kept = root.path("/var/lib/apuhost/models/registry.ollama.ai/library/qwen3.6/35b-a3b")
        self.stored = root.path("/store/manifests/35b-a3b")
        self.offer()

    def offer(self) -> None:
        """Put what OFFER leaves."""
        give(self.folder, {"manifest": MANIFEST, "config": CONFIG, "params": PARAMS})

    def ollama_writes(self, manifest: str = MANIFEST) -> None:
        """Put the model's manifest where Ollama has it."""
        give(self.stored.parent, {self.stored.name: manifest})

    def arguments(self, port: int, stored: str | None = None) -> tuple[str, ...]:
        """The script's arguments."""
        where = str(self.stored) if stored is None else stored
        return HERE, str(port), str(self.folder), str(self.kept), where

    def run(self, port: int, stored: str | None = None) -> Done:
        """Pull, and keep what was offered."""
        arguments = self.arguments(port, stored)
        return self.root.run(models.PULL, *arguments, stdin=BODY, replaced=SOON)


@pytest.fixture
def pulling(root: Root) -> Pulling:
    return Pulling(root)


def test_after_a_pull_the_registrys_manifest_is_kept(pulling: Pulling) -> None:
    def answer(body: bytes) -> bytes:
        time.sleep(1)
        pulling.ollama_writes()
        return SUCCESS

    with stub({"/api/pull": answer}) as server:
        done = pulling.run(server.port)
    assert (done.returncode, done.stderr) == (0, "")
    assert server.paths == ["POST /api/pull"]
    assert server.bodies("/api/pull") == [json.loads(BODY)]
    assert sorted(path.name for path in pulling.kept.iterdir()) == ["manifest", "params"]
    assert (pulling.kept / "manifest").read_text() == MANIFEST
    assert not pulling.folder.exists()


def test_what_is_here_is_kept_without_a_pull(pulling: Pulling) -> None:
    with stub({}) as server:
        done = pulling.run(server.port, stored="")
    assert (done.returncode, done.stderr) == (0, "")
    assert server.requests == []
    assert (pulling.kept / "manifest").read_text() == MANIFEST


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param(
            ndjson({"status": "pulling manifest"}, {"error": "no space left on device"}),
            "no space left on device",
            id="an error with status 200",
        ),
        pytest.param(
            b'HTTP/1.0 400 Bad Request\r\n\r\n{"error":"invalid model name"}',
            "invalid model name",
            id="an error with status 400",
        ),
        pytest.param(
            ndjson({"status": "pulling 5b22df2fa6b3", "completed": 7})[:-9],
            "broke off",
            id="a connection that is cut",
        ),
        pytest.param(b"HTTP/1.0 200 OK\r\n\r\n", "broke off", id="no answer at all"),
    ],
)
def test_a_pull_that_fails_keeps_nothing(pulling: Pulling, answer: bytes, told: str) -> None:
    pulling.ollama_writes()
    with stub({"/api/pull": answer}) as server:
        done = pulling.run(server.port)
    assert done.returncode == 1
    assert told in done.stderr
    assert not pulling.kept.exists()


def test_a_pull_without_an_ollama_says_so(pulling: Pulling) -> None:
    done = pulling.run(free_port())
    assert done.returncode == 1
    assert "Connection refused" in done.stderr
    assert not pulling.kept.exists()


def test_a_manifest_that_changed_between_offer_and_pull_is_not_kept(pulling: Pulling) -> None:
    pulling.ollama_writes(MANIFEST.replace("2048", "512"))
    with stub({"/api/pull": SUCCESS}) as server:
        pulling.ollama_writes("{}")
        done = pulling.run(server.port)
    assert done.returncode == 1
    assert "another manifest" in done.stderr
    assert not pulling.kept.exists()


def test_an_interrupted_pull_does_not_stand_in_the_way_of_the_next(pulling: Pulling) -> None:
    """The first run's request goes on in Ollama, as it does after a lost connection."""
    began, ended = threading.Event(), threading.Event()

    def answer(body: bytes) -> bytes:
        if not began.is_set():
            began.set()
            ended.wait(120)
        pulling.ollama_writes()
        return SUCCESS

    with stub({"/api/pull": answer}) as server:
        first = pulling.root.start(models.PULL, *pulling.arguments(server.port), replaced=SOON)
        assert first.stdin is not None
        first.stdin.write(BODY)
        first.stdin.close()
        assert began.wait(20)
        first.kill()  # not what it started
        first.wait()
        pulling.offer()
        again = pulling.run(server.port)
        ended.set()
        os.killpg(first.pid, signal.SIGKILL)
    assert (again.returncode, again.stderr) == (0, "")
    assert (pulling.kept / "manifest").read_text() == MANIFEST


def set_parameters(root: Root, port: int, body: str) -> Done:
    return root.run(models.SET, HERE, str(port), stdin=body)


def test_parameters_are_set_with_one_request(root: Root) -> None:
    body = json.dumps({"model": "m:1", "from": "m:1", "parameters": {"stop": ["<é>"]}})
    with stub({"/api/create": SUCCESS}) as server:
        done = set_parameters(root, server.port, body)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert server.bodies("/api/create") == [json.loads(body)]
    assert server.requests[0].headers["content-type"] == "application/json"


def test_a_body_is_counted_in_bytes(root: Root) -> None:
    body = '{"parameters":{"stop":["ü€"]}}'
    with stub({"/api/create": SUCCESS}) as server:
        assert set_parameters(root, server.port, body).returncode == 0
    assert server.requests[0].body == body.encode()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param(ndjson({"error": "disk full"}), "disk full", id="an error with status 200"),
        pytest.param(ndjson({"status": "using existing layer"}), "using existing", id="cut"),
    ],
)
def test_parameters_that_are_not_set_fail_in_ollamas_words(
    root: Root, answer: bytes, told: str
) -> None:
    with stub({"/api/create": answer}) as server:
        done = set_parameters(root, server.port, "{}")
    assert done.returncode == 1
    assert told in done.stderr


def test_parameters_without_an_ollama_fail(root: Root) -> None:
    done = set_parameters(root, free_port(), "{}")
    assert done.returncode == 1
    assert "Connection refused" in done.stderr


VERSION = {"/api/version": b'{"version":"0.34.4"}'}


def answers(root: Root, port: int, *, within: str = "180") -> Done:
    root.program("docker", "echo 'no GPU here' >&2")
    replaced = {"timeout 180": f"timeout {within}"}
    return root.run(ollama.ANSWERS, HERE, str(port), "ollama", replaced=replaced)


def test_connections_that_are_reset_are_no_answer_yet(root: Root) -> None:
    """Docker's own proxy takes connections before Ollama listens, and resets them."""
    with socket.create_server((HERE, 0)) as listening:
        threading.Thread(target=_reset_then_answer, args=(listening,), daemon=True).start()
        done = answers(root, listening.getsockname()[1], within="20")
    assert (done.returncode, done.stderr) == (0, "")


def _reset_then_answer(listening: socket.socket) -> None:
    for number in range(4):
        connection, _ = listening.accept()
        if number == 3:
            connection.sendall(b'HTTP/1.0 200 OK\r\n\r\n{"version":"0.34.4"}')
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1024)
        else:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


def test_an_ollama_that_answers_is_waited_for(root: Root) -> None:
    port, found = free_port(), []
    waiting = threading.Thread(target=lambda: found.append(answers(root, port)))
    waiting.start()
    time.sleep(2)
    with stub({}, port) as server:
        while not server.requests:  # open, but without an answer yet
            time.sleep(0.1)
        server.answers.update(VERSION)
        waiting.join(20)
    assert (found[0].returncode, found[0].stderr) == (0, "")
    assert root.said == []


@pytest.mark.parametrize("reply", [None, b"some other program"], ids=["nobody", "another program"])
def test_an_ollama_that_never_answers_fails_with_its_last_words(
    root: Root, reply: bytes | None
) -> None:
    with stub({"/api/version": reply} if reply else {}) as server:
        port = server.port if reply else free_port()
        done = answers(root, port, within="3")
    assert done.returncode == 1
    assert f"does not answer on {HERE}:{port}" in done.stderr
    assert "no GPU here" in done.stderr
    assert root.said == ["docker logs --tail 20 -- ollama"]


UP = f"docker compose -f {compose.PATH} up --detach --no-build --pull never"


def test_our_container_is_made_by_compose_alone(root: Root) -> None:
    root.program("docker")
    assert root.run(ollama.RUN, "ollama", "ours", "--force-recreate").returncode == 0
    assert root.said == [f"{UP} --force-recreate"]


def test_a_container_of_somebody_else_makes_room_first(root: Root) -> None:
    root.program("docker", 'case "$1" in stop) exit 1 ;; esac')
    assert root.run(ollama.RUN, "ollama", "foreign", "--force-recreate").returncode == 0
    assert root.said == [
        f"docker inspect -f {ollama.RUN_WITH} -- ollama",
        "docker stop --time 30 -- ollama",
        "docker rm -- ollama",
        f"{UP} --force-recreate",
    ]


@pytest.mark.parametrize(
    ("mounts", "refused"), [(f"{'0a' * 32}", True), ("ollama", False)], ids=["nameless", "named"]
)
def test_a_container_that_takes_its_models_along_is_left(
    root: Root, mounts: str, refused: bool
) -> None:
    root.program("docker", f'[ "$1" != inspect ] || echo "true {mounts}"')
    done = root.run(ollama.RUN, "ollama", "foreign", "--force-recreate")
    assert (done.returncode == 1) == refused
    assert any("stop" in line for line in root.said) != refused


def test_a_container_that_cannot_be_removed_is_not_doubled(root: Root) -> None:
    root.program("docker", 'case "$1" in rm) echo "busy" >&2; exit 1 ;; esac')
    done = root.run(ollama.RUN, "ollama", "foreign", "--force-recreate")
    assert (done.returncode, done.stderr) == (1, "busy\n")
    assert not any("compose" in line for line in root.said)


def test_a_container_that_goes_by_itself_is_in_nobodys_way(root: Root) -> None:
    root.program("docker", 'case "$1" in rm | container) exit 1 ;; esac')
    assert root.run(ollama.RUN, "ollama", "foreign", "--force-recreate").returncode == 0
    assert root.said[-1] == f"{UP} --force-recreate"


def test_what_compose_says_is_told_when_it_fails(root: Root) -> None:
    root.program("docker", "echo 'no such device' >&2; exit 1")
    done = root.run(ollama.RUN, "ollama", "ours", "--no-recreate")
    assert done.returncode == 1
    assert "no such device" in done.stdout


def test_a_volume_is_made_by_its_name(root: Root) -> None:
    root.program("docker")
    assert root.run(ollama.VOLUME, "ollama_ollama").returncode == 0
    assert root.said == ["docker volume create -- ollama_ollama"]


IMAGE = "docker.io/ollama/ollama:0.34.4@sha256:" + "ab" * 32
QUICK = {"5 20 0": "0.1 0.1 0"}


def test_an_image_is_pulled_once_when_that_works(root: Root) -> None:
    root.program("docker")
    assert root.run(ollama.PULL, IMAGE, replaced=QUICK).returncode == 0
    assert root.said == [f"docker pull --quiet -- {IMAGE}"]


def test_a_broken_connection_is_tried_thrice(root: Root) -> None:
    root.program("docker", f"[ $(grep -c pull {root.folder}/said) = 3 ]")
    assert root.run(ollama.PULL, IMAGE, replaced=QUICK).returncode == 0
    assert len(root.said) == 3


def test_a_registry_that_never_answers_fails(root: Root) -> None:
    root.program("docker", "echo 'connection reset' >&2; exit 1")
    done = root.run(ollama.PULL, IMAGE, replaced=QUICK)
    assert done.returncode == 1
    assert "connection reset" in done.stderr
    assert len(root.said) == 3


APT = "-q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 " + (
    "-o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold"
)


def test_packages_are_installed_in_one_run_and_nothing_is_removed(root: Root) -> None:
    for name in ("dpkg", "apt-get"):
        root.program(name)
    assert root.run(packages.INSTALL, "docker.io", "docker-cli").returncode == 0
    install = "install -y --no-install-recommends --no-remove -- docker.io docker-cli"
    assert root.said == ["dpkg --audit", f"apt-get {APT} update", f"apt-get {APT} {install}"]


def test_a_broken_dpkg_is_finished_first(root: Root) -> None:
    root.program("dpkg", 'case "$1" in --audit) echo "half" ;; esac')
    root.program("apt-get")
    assert root.run(packages.INSTALL, "docker.io").returncode == 0
    assert root.said[1] == "dpkg --force-confdef --force-confold --configure -a"


def test_lists_that_cannot_be_fetched_are_said_and_gone_on_without(root: Root) -> None:
    root.program("dpkg")
    root.program("apt-get", 'case "$*" in *update) exit 100 ;; esac')
    done = root.run(packages.INSTALL, "docker.io")
    assert done.returncode == 0
    assert "apt-get update failed" in done.stderr


def test_a_package_that_cannot_be_installed_fails(root: Root) -> None:
    root.program("dpkg")
    root.program("apt-get", 'case "$*" in *install*) exit 100 ;; esac')
    assert root.run(packages.INSTALL, "docker.io").returncode == 100


def test_a_user_joins_a_group_and_leaves_none(root: Root) -> None:
    root.program("usermod")
    assert root.run(packages.JOIN, "admin", "render").returncode == 0
    assert root.said == ["usermod -aG render -- admin"]


KEYRING = "/etc/apt/keyrings/apuhost-docker.asc"


def armoured(root: Root, *names: str) -> str:
    """New keys in one file, as a vendor publishes them."""
    home = root.folder / "gnupg"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--passphrase", ""]
    for name in names:
        subprocess.run([*gpg, "--quick-generate-key", name, "ed25519", "sign"], check=True)
    exported = subprocess.run([*gpg, "--armor", "--export"], capture_output=True, check=True)
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=True)
    return exported.stdout.decode()


def fingerprints(root: Root) -> list[str]:
    listing = ["gpg", "--homedir", str(root.folder / "gnupg"), "--with-colons", "--list-keys"]
    said = subprocess.run(listing, capture_output=True, check=True, text=True).stdout
    return re.findall(r"^fpr:+([0-9A-F]+):$", said, re.MULTILINE)


def take_key(root: Root, published: str, fingerprint: str) -> Done:
    for name in ("dpkg", "apt-get"):
        root.program(name)
    (root.folder / "published").write_text(published)
    root.program(
        "/usr/lib/apt/apt-helper", f'for file; do :; done; cp {root.folder}/published "$file"'
    )
    return root.run(docker.KEY, fingerprint, str(root.path(KEYRING)))


needs_gpg = pytest.mark.skipif(not shutil.which("gpg"), reason="gpg is not here")


@needs_gpg
def test_dockers_key_is_taken_by_its_fingerprint(root: Root) -> None:
    published = armoured(root, "docker")
    done = take_key(root, published, *fingerprints(root))
    assert done.returncode == 0
    assert root.path(KEYRING).read_text() == published
    assert root.path(KEYRING).stat().st_mode & 0o777 == 0o644
    assert [path.name for path in root.path(KEYRING).parent.iterdir()] == ["apuhost-docker.asc"]


@needs_gpg
@pytest.mark.parametrize("names", [("another",), ("docker", "another")])
def test_another_key_and_a_second_one_are_not_trusted(root: Root, names: tuple[str, ...]) -> None:
    published = armoured(root, *names)
    right = fingerprints(root)[0] if len(names) > 1 else docker_ce.FINGERPRINT
    done = take_key(root, published, right)
    assert done.returncode == 1
    assert "not trusted" in done.stderr
    assert not root.path(KEYRING).exists()


@needs_gpg
@pytest.mark.parametrize("published", ["", "<html>407 Proxy Authentication Required</html>"])
def test_what_is_no_key_is_not_trusted(root: Root, published: str) -> None:
    done = take_key(root, published, docker_ce.FINGERPRINT)
    assert done.returncode == 1
    assert not root.path(KEYRING).exists()


def replaced(root: Root, *going: str) -> Done:
    """Docker's packages in the place of two others, where apt would remove these."""
    root.program("dpkg")
    lines = "".join(f"Remv {name} [1.0]\\n" for name in going)
    root.program("apt-get", f'case "$*" in *" -s "*) printf "{lines}" ;; esac')
    return root.run(docker.REPLACE, "docker.io runc", "docker-ce", "docker.io-", "runc-")


def test_what_cannot_stand_beside_dockers_packages_goes_with_their_coming(root: Root) -> None:
    assert replaced(root, "docker.io", "runc").returncode == 0
    install = "install -y --no-install-recommends -- docker-ce docker.io- runc-"
    assert root.said[-1] == f"apt-get {APT} {install}"


def test_nothing_else_goes(root: Root) -> None:
    done = replaced(root, "docker.io", "cockpit-docker")
    assert (done.returncode, done.stderr) == (
        1,
        "apt would remove cockpit-docker, too: not begun\n",
    )
    assert not any("-y" in line for line in root.said)


PLACES = ["::1", "10.0.0.0/8", "*.lan", ".example.com", "a-b.example", "192.0.2.1"]
needs_apt = pytest.mark.skipif(not shutil.which("apt-config"), reason="apt is not here")


@needs_apt
def test_apt_reads_the_proxys_file_as_it_is_meant(tmp_path: Path) -> None:
    proxy = "http://[2001:db8::1]:3128"
    values = {"docker_proxy": proxy, "docker_no_proxy": PLACES}
    file = tmp_path / "apt.conf"
    file.write_text(roles.render("docker", changes.APT_PROXY, values))
    said = subprocess.run(
        ["apt-config", "dump", "Acquire"],
        env={**os.environ, "APT_CONFIG": str(file)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert said.stderr == ""
    for scheme in ("http", "https"):
        assert f'Acquire::{scheme}::Proxy "{proxy}";' in said.stdout.splitlines()
        for place in PLACES[3:]:
            assert f'Acquire::{scheme}::Proxy::{place} "DIRECT";' in said.stdout.splitlines()


@pytest.mark.parametrize(("there", "option"), [(True, ""), (False, "--fresh")])
def test_certificates_are_made_known(root: Root, there: bool, option: str) -> None:
    """Debian leaves a dangling link of what is gone, unless it is told to begin afresh."""
    root.program("update-ca-certificates")
    certificate = root.folder / "site.crt"
    if there:
        certificate.write_text("PEM")
    replaced = {changes.SITE_CA: str(certificate)}
    assert root.run(docker.TRUST, replaced=replaced).returncode == 0
    assert root.said == [f"update-ca-certificates {option}"]


SERVICE = "systemctl {} docker.service"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param(docker.RELOAD, [SERVICE.format("reload")], id="reload"),
        pytest.param(
            docker.START,
            ["systemctl daemon-reload", "systemctl enable --now docker.service"],
            id="start",
        ),
        pytest.param(
            docker.RESTART,
            [
                "systemctl daemon-reload",
                SERVICE.format("reload"),
                SERVICE.format("restart"),
                "docker info",
            ],
            id="restart: live-restore is taken up before",
        ),
    ],
)
def test_the_engine_is_told_through_systemd(root: Root, script: str, said: list[str]) -> None:
    for name in ("systemctl", "docker"):
        root.program(name)
    assert root.run(script).returncode == 0
    assert root.said == said
    assert root.path("/run/apuhost/docker-reloaded").exists() == (script != docker.START)


def test_an_engine_that_does_not_come_back_fails(root: Root) -> None:
    root.program("systemctl")
    root.program("docker", "echo 'cannot connect' >&2; exit 1")
    done = root.run(docker.RESTART)
    assert done.returncode == 1
    assert "cannot connect" in done.stderr


def test_a_daemon_json_is_asked_of_dockerd_where_there_is_one(root: Root) -> None:
    root.program("dockerd", "echo 'unable to configure' >&2; exit 1")
    new = root.folder / "daemon.json.apuhost-new"
    done = root.run(docker.VALID, str(new))
    assert done.returncode == 1
    assert "unable to configure" in done.stdout
    assert root.said == [f"dockerd --validate --config-file {new}"]


def test_a_daemon_json_is_judged_beside_the_flags_of_the_running_dockerd(root: Root) -> None:
    """Dockerd does not start where a flag and the file say the same key."""
    with subprocess.Popen(["sleep", "60"]) as running:
        root.program("dockerd")
        root.program("systemctl", f"echo MainPID={running.pid}")
        done = root.run(docker.VALID, "/etc/docker/new")
        running.kill()
    assert (done.returncode, done.stderr) == (0, "")
    assert root.said[-1] == "dockerd 60 --validate --config-file /etc/docker/new"


UNITS = {
    "/etc/systemd/system/apuhost-ollama.service": "ollama",
    "/etc/systemd/system/apuhost-firewall.service": "ollama",
    "/etc/systemd/system/apuhost-models.service": "models",
}
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")


def verified(root: Root, path: str, text: str) -> Done:
    new = root.folder / f"{Path(path).name}.apuhost-new"
    new.write_text(text)
    quoted = units.VERIFIED.replace("'", "'\\''")
    return root.run(f"sh -c '{quoted}' check \"$1\"", str(new))


@needs_systemd
@pytest.mark.parametrize("path", UNITS)
def test_our_units_are_right_for_systemd(root: Root, path: str) -> None:
    text = roles.render(UNITS[path], path, {})
    done = verified(root, path, text.replace("ExecStart=docker", "ExecStart=true"))
    assert (done.returncode, done.stdout) == (0, "\n")


@needs_systemd
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param("ExecStart=/bin/bash", "ExecStart=/bin/no-such-shell", id="no such program"),
        pytest.param("RemainAfterExit", "RemainAfterExti", id="an unknown key"),
        pytest.param("[Service]", "[Servcie]", id="an unknown section"),
    ],
)
def test_a_unit_that_systemd_would_not_take_is_refused(root: Root, right: str, wrong: str) -> None:
    path = "/etc/systemd/system/apuhost-models.service"
    done = verified(root, path, roles.render("models", path, {}).replace(right, wrong))
    assert done.returncode != 0
    assert re.search("no-such-shell|RemainAfterExti|Servcie", done.stdout)


def test_a_unit_is_enabled_and_started_anew(root: Root) -> None:
    root.program("systemctl")
    assert root.run(units.ENABLE, "apuhost-models.service").returncode == 0
    assert root.said == [
        "systemctl daemon-reload",
        "systemctl enable --quiet -- apuhost-models.service",
        "systemctl restart -- apuhost-models.service",
    ]


def test_a_unit_that_fails_tells_its_journal(root: Root) -> None:
    root.program("systemctl", 'case "$1" in restart) exit 1 ;; esac')
    root.program("journalctl", "echo 'qwen3.6:35b-a3b has 0 of 9 bytes on the GPU'")
    done = root.run(units.ENABLE, "apuhost-models.service")
    assert done.returncode == 1
    assert "0 of 9 bytes on the GPU" in done.stderr
