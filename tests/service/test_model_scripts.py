"""The scripts that pull models, keep their manifests and set parameters, under the real sh.

Ollama's API is a stub on loopback; the registry is one too, or a folder that a stand-in for apt's
downloader copies from.
"""

import hashlib
import json
import os
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from tests.support.host_root import Done, Root, give
from tests.support.ollama_stub import free_port, ndjson
from tests.support.ollama_stub import ollama as stub

from apuhost.probes import ParseError
from apuhost.probes.files import TextFile, frame
from apuhost.probes.model_store import Offer, parse_offer
from apuhost.steps import models

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


def source(server: str) -> tuple[str, str]:
    model = f"{server}/v2/library/qwen3.6"
    return f"{model}/manifests/35b-a3b", f"{model}/blobs/sha256:"


def offer(root: Root, server: str = "https://registry.ollama.ai") -> Done:
    folder = root.path("/run/apuhost/offer-1")
    return root.run(models.OFFER, str(folder), *source(server))


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
    assert not root.path(OFFER).exists()


def test_a_name_that_the_registry_does_not_have_is_told_in_its_words(
    root: Root, registry: Path
) -> None:
    (registry / "manifests/35b-a3b").unlink()
    done = offer(root)
    assert done.returncode == 1
    assert "404  Not Found" in done.stderr
    assert not root.path(OFFER).exists()


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


OFFER = "/run/apuhost/offer-1"
KEPT = "/var/lib/apuhost/models/registry.ollama.ai/library/qwen3.6/35b-a3b"


@pytest.fixture
def ready(root: Root) -> Root:
    """A root in which an offer lies, as OFFER leaves it."""
    give(root.path(OFFER), {"manifest": MANIFEST, "config": CONFIG, "params": PARAMS})
    return root


def pull(root: Root, port: int) -> Done:
    arguments = (str(root.path(OFFER)), HERE, str(port))
    return root.run(models.PULL, *arguments, stdin=BODY, replaced=SOON)


def test_a_pull_is_one_request_that_is_waited_for(ready: Root) -> None:
    def answer(body: bytes) -> bytes:
        time.sleep(1)
        return SUCCESS

    with stub({"/api/pull": answer}) as server:
        done = pull(ready, server.port)
    assert (done.returncode, done.stderr) == (0, "")
    assert server.paths == ["POST /api/pull"]
    assert server.bodies("/api/pull") == [json.loads(BODY)]
    assert (ready.path(OFFER) / "manifest").read_text() == MANIFEST


def test_a_pull_says_how_far_it_is(ready: Root) -> None:
    lines = [
        {"status": "pulling 5b", "total": 22_300_000_000, "completed": far} for far in (1, 4.1e9)
    ]
    text = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
    (ready.path(OFFER) / "said").write_text(f'{text.replace(".0", "")}{{"status":"pull')
    assert ready.run(f'{models.FAR}far "$1"', str(ready.path(OFFER))).stdout == "4.1 of 22.3 GB\n"


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
def test_a_pull_that_fails_leaves_no_offer(ready: Root, answer: bytes, told: str) -> None:
    with stub({"/api/pull": answer}) as server:
        done = pull(ready, server.port)
    assert done.returncode == 1
    assert told in done.stderr
    assert not ready.path(OFFER).exists()


def test_a_pull_without_an_ollama_says_so(ready: Root) -> None:
    done = pull(ready, free_port())
    assert done.returncode == 1
    assert "Connection refused" in done.stderr
    assert not ready.path(OFFER).exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_pull_that_is_ended_leaves_no_offer(ready: Root, number: signal.Signals) -> None:
    began, ended = threading.Event(), threading.Event()

    def answer(_: bytes) -> bytes:
        began.set()
        ended.wait(20)
        return SUCCESS

    with stub({"/api/pull": answer}) as server:
        arguments = (str(ready.path(OFFER)), HERE, str(server.port))
        process = ready.start(models.PULL, *arguments, replaced=SOON)
        assert process.stdin is not None
        process.stdin.write(BODY)
        process.stdin.close()
        assert began.wait(20)
        process.send_signal(number)
        assert process.wait(20) == 1
        ended.set()
    assert not ready.path(OFFER).exists()


def test_an_interrupted_pull_does_not_stand_in_the_way_of_the_next(ready: Root) -> None:
    """The first run's request goes on in Ollama, as it does after a lost connection."""
    began, ended = threading.Event(), threading.Event()

    def answer(body: bytes) -> bytes:
        if not began.is_set():
            began.set()
            ended.wait(120)
        return SUCCESS

    with stub({"/api/pull": answer}) as server:
        arguments = (str(ready.path(OFFER)), HERE, str(server.port))
        first = ready.start(models.PULL, *arguments, replaced=SOON)
        assert first.stdin is not None
        first.stdin.write(BODY)
        first.stdin.close()
        assert began.wait(20)
        first.kill()  # not what it started
        first.wait()
        again = pull(ready, server.port)
        ended.set()
        os.killpg(first.pid, signal.SIGKILL)
    assert (again.returncode, again.stderr) == (0, "")


STORE = {"manifests/35b-a3b": MANIFEST, f"blobs/sha256-{sha256(PARAMS)}": PARAMS}


@pytest.fixture
def stored(root: Root) -> Root:
    """A root in which a store lies, as Ollama pulled it."""
    give(root.path("/store"), STORE)
    return root


def keep(root: Root, digest: str, params: str = f"/store/blobs/sha256-{sha256(PARAMS)}") -> Done:
    """Keep what is in the store."""
    manifest = root.path("/store/manifests/35b-a3b")
    given = (str(root.path(params)), f"sha256:{sha256(PARAMS)}") if params else ("", "")
    return root.run(models.KEEP, "", str(root.path(KEPT)), str(manifest), digest, *given)


def kept(root: Root) -> dict[str, str]:
    folder = root.path(KEPT)
    return {path.name: path.read_text() for path in folder.iterdir()} if folder.exists() else {}


def test_the_stores_own_manifest_is_kept_without_a_word_to_anyone(stored: Root) -> None:
    done = keep(stored, sha256(MANIFEST))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert kept(stored) == {"manifest": MANIFEST, "params": PARAMS}
    assert stored.said == []
    assert {name: (stored.path("/store") / name).read_text() for name in STORE} == STORE


def test_a_model_without_parameters_is_kept_without(stored: Root) -> None:
    assert keep(stored, sha256(MANIFEST), params="").returncode == 0
    assert kept(stored) == {"manifest": MANIFEST}


def test_a_manifest_that_changed_meanwhile_is_not_kept(stored: Root) -> None:
    give(stored.path(KEPT), {"manifest": "older"})
    done = keep(stored, "0" * 64)
    assert done.returncode == 1
    assert "was changed by someone else meanwhile: run again" in done.stderr
    assert kept(stored) == {"manifest": "older"}


def test_without_the_blob_of_its_parameters_no_manifest_is_kept(stored: Root) -> None:
    assert keep(stored, sha256(MANIFEST), params="/store/blobs/none").returncode == 1
    assert "manifest" not in kept(stored)


def test_a_blob_that_a_container_made_a_link_is_not_kept(stored: Root) -> None:
    blob = stored.path(f"/store/blobs/sha256-{sha256(PARAMS)}")
    blob.unlink()
    secret = stored.path("/secret")
    secret.write_text("of the host alone")
    blob.symlink_to(secret)
    done = keep(stored, sha256(MANIFEST))
    assert done.returncode == 1
    assert "was changed by someone else" in done.stderr
    assert "of the host alone" not in "".join(kept(stored).values())


@pytest.mark.parametrize("digest", [sha256(MANIFEST), "0" * 64])
def test_what_was_offered_is_kept_or_goes(ready: Root, digest: str) -> None:
    folder = ready.path(OFFER)
    arguments = (str(folder), str(ready.path(KEPT)), str(folder / "manifest"), digest)
    params = (str(folder / "params"), f"sha256:{sha256(PARAMS)}")
    done = ready.run(models.KEEP, *arguments, *params)
    assert folder.exists() == (done.returncode == 0) == ("manifest" in kept(ready))


def test_an_offer_is_forgotten(ready: Root) -> None:
    assert ready.run(models.FORGET, str(ready.path(OFFER))).returncode == 0
    assert not ready.path(OFFER).exists()
    assert ready.run(models.FORGET, str(ready.path(OFFER))).returncode == 0


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
