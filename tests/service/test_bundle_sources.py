"""Images and models come from real registries as they are, whatever happens on the way."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from tests.support.pushing import Pusher
from tests.support.registries import NEEDED, started

from apuhost import web
from apuhost.bundle import images, models
from apuhost.bundle.cache import fetch
from apuhost.bundle.item import BundleError, Item
from apuhost.lockfile import Image, Lock, Target
from apuhost.oci import RegistryError, credentials, reference
from apuhost.oci.manifests import DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST
from apuhost.oci.registry import Registries
from apuhost.rehearsal import ports
from apuhost.rehearsal.state import Machine
from apuhost.settings.models import PinnedModel
from apuhost.web import Get

pytestmark = NEEDED

TARGET = Target("debian", "trixie", "amd64", "3.13")
BIG = random.Random(1).randbytes(300_000)
LOGIN = ("me", "S3CRET")
# htpasswd -nbB -C 4 me S3CRET
HTPASSWD = "me:$2b$04$LUSoGKusyNhjwPnqzfcc9.DRKyq4ypQaQAqSRSiPu5RKX1vO7gnZG\n"
FETCH = """
import sys, time
from pathlib import Path
from apuhost.bundle.cache import fetch
from apuhost.bundle.item import BundleError, Item
from apuhost.lockfile import Blob
from apuhost.oci import credentials
from apuhost.oci.registry import Registries

cache, digest, size, url, pause = sys.argv[1:]

def heard(number):
    print(number, flush=True)
    time.sleep(float(pause))

try:
    with Registries(credentials.read()) as registries:
        fetch(Path(cache), Item("x", Blob(digest, int(size)), url), registries.get, heard)
except BundleError as error:
    print(error, flush=True)
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A registry of images and one of models, over TLS, with a CA of their own."""
    with started(tmp_path_factory.mktemp("machine")) as found:
        yield found


@pytest.fixture(autouse=True)
def site(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The site's CA is trusted, nobody is logged in, and a proxy that is none is told of."""
    monkeypatch.setenv("SSL_CERT_FILE", str(machine.ca))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")


@contextmanager
def pushing(base: str, auth: tuple[str, str] | None = None) -> Iterator[Pusher]:
    with web.client() as client:
        client.base_url, client.auth = httpx.URL(base), auth  # type: ignore[assignment]
        yield Pusher(client)


def repository(machine: Machine, name: str) -> AbstractContextManager[Pusher]:
    return pushing(f"https://127.0.0.1:{machine.images_port}/v2/{name}/")


def asking(accept: str = "") -> Registries:
    known = credentials.read()
    return Registries(known, accept) if accept else Registries(known)


def lock(found: tuple[Image, ...] = ()) -> Lock:
    return Lock(1, "2026-11-30T09:00:00+00:00", "0.1.0", TARGET, images=found)


def build(folder: Path, items: Iterator[Item], asked: Registries) -> None:
    """Put what is fetched where it belongs."""
    for item in items:
        place = folder / item.path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(fetch(folder / "cache", item, asked.get), place)


def inspected(*options: str) -> str:
    """What skopeo reads in a layout."""
    command = ["skopeo", "--override-os=linux", "--override-arch=amd64", "inspect", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("index", "manifest", "named"),
    [
        pytest.param(OCI_INDEX, OCI_MANIFEST, ":{}", id="OCI"),
        # skopeo finds such an entry by no name, but as the only one.
        pytest.param(DOCKER_LIST, DOCKER_MANIFEST, "", id="Docker"),
    ],
)
def test_a_sparse_layout_keeps_the_pin_and_skopeo_reads_it(
    machine: Machine, tmp_path: Path, index: str, manifest: str, named: str
) -> None:
    with repository(machine, "team/app") as pusher:
        own = pusher.image("amd64", b"ours", manifest)
        pin = pusher.index(index, pusher.image("arm64", b"theirs", manifest), own, tag="1")
    full = f"127.0.0.1:{machine.images_port}/team/app:1"
    with asking() as asked:
        found = images.resolve([f"{full}@{pin}"], TARGET, asked)
        build(tmp_path, images.items(lock(found)), asked)
    for text in images.texts(lock(found)):
        (tmp_path / text.path).write_bytes(text.content)
    blobs = sorted(path.name for path in (tmp_path / "images/blobs/sha256").iterdir())
    assert len(blobs) == 4  # index, manifest, configuration, layer; none of the other platform
    assert found[0].chain[0].digest == pin
    place = f"oci:{tmp_path}/images{named.format(full)}"
    raw = inspected("--raw", place)
    assert raw.encode() == (tmp_path / "images/blobs/sha256" / pin[7:]).read_bytes()
    told = json.loads(inspected(place))
    assert (told["Digest"], told["Architecture"]) == (pin, "amd64")
    assert told["Layers"] == [found[0].layers[0].digest]


def test_skopeo_brings_it_to_a_sites_own_registry_where_it_has_a_digest_of_its_platform(
    machine: Machine, tmp_path: Path
) -> None:
    with repository(machine, "team/own") as pusher:
        own = pusher.image("amd64", b"ours", OCI_MANIFEST)
        pin = pusher.index(OCI_INDEX, pusher.image("arm64", b"theirs", OCI_MANIFEST), own, tag="1")
    registry = f"127.0.0.1:{machine.images_port}"
    with asking() as asked:
        found = images.resolve([f"{registry}/team/own:1@{pin}"], TARGET, asked)
        build(tmp_path, images.items(lock(found)), asked)
        for text in images.texts(lock(found)):
            (tmp_path / text.path).write_bytes(text.content)
        # As docs/bundle.md says.
        subprocess.run(
            ["skopeo", "--override-os=linux", "--override-arch=amd64", "copy",
             "--preserve-digests", f"oci:{tmp_path}/images:{registry}/team/own:1",
             f"docker://{registry}/site/ollama:1"],
            env={**os.environ, "SSL_CERT_FILE": str(machine.ca), "no_proxy": "127.0.0.1"},
            check=True,
        )  # fmt: skip
        brought = reference.parse(f"{registry}/site/ollama").repository
        given = asked.manifest(brought, own["digest"])
    assert given.content == (tmp_path / "images/blobs/sha256" / own["digest"][7:]).read_bytes()


def test_the_wrong_platform_is_told_with_those_that_there_are(machine: Machine) -> None:
    with repository(machine, "team/arm") as pusher:
        pin = pusher.index(OCI_INDEX, pusher.image("arm64", b"theirs", OCI_MANIFEST))
    name = f"127.0.0.1:{machine.images_port}/team/arm:1@{pin}"
    with asking() as asked, pytest.raises(BundleError, match="it is there for linux/arm64: pin"):
        images.resolve([name], TARGET, asked)


def test_what_is_not_there_is_told(machine: Machine) -> None:
    name = f"127.0.0.1:{machine.images_port}/team/nobody:1@sha256:{'a' * 64}"
    with asking() as asked, pytest.raises(RegistryError, match="answered 404: it is not there"):
        images.resolve([name], TARGET, asked)


def test_without_the_ca_nobody_is_trusted(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    name = f"127.0.0.1:{machine.images_port}/team/oci:1@sha256:{'a' * 64}"
    with asking() as asked, pytest.raises(RegistryError, match="name the site's CA in SSL_CERT"):
        images.resolve([name], TARGET, asked)


@pytest.fixture
def big(machine: Machine) -> Item:
    """A layer that takes more than one read."""
    with repository(machine, "team/big") as pusher:
        pin = pusher.image("amd64", BIG, OCI_MANIFEST)["digest"]
    name = f"127.0.0.1:{machine.images_port}/team/big:1@{pin}"
    with asking() as asked:
        found = images.resolve([name], TARGET, asked)
    (item,) = (each for each in images.items(lock(found)) if each.file.size == len(BIG))
    return item


def noted(asked: Registries) -> tuple[Get, list[int]]:
    """How to ask, and from where on it was."""
    offsets: list[int] = []

    def get(url: str, offset: int) -> AbstractContextManager[httpx.Response]:
        offsets.append(offset)
        return asked.get(url, offset)

    return get, offsets


def command(cache: Path, item: Item, pause: int) -> list[str]:
    size = str(item.file.size)
    return [
        sys.executable, "-c", FETCH, str(cache), item.file.digest, size, item.url, str(pause),
    ]  # fmt: skip


def test_a_killed_run_is_gone_on_with(big: Item, tmp_path: Path) -> None:
    with subprocess.Popen(command(tmp_path, big, 60), stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        assert int(killed.stdout.readline()) > 0
        killed.send_signal(signal.SIGKILL)
    (part,) = (tmp_path / "sha256").iterdir()
    heard: list[int] = []
    here = part.stat().st_size
    assert 0 < here < len(BIG)
    with asking() as asked:
        get, offsets = noted(asked)
        assert fetch(tmp_path, big, get, heard.append).read_bytes() == BIG
    assert offsets == [here]
    assert (heard[0], sum(heard)) == (here, len(BIG))


def test_two_runs_at_once_bring_one_file(big: Item, tmp_path: Path) -> None:
    runs = [subprocess.Popen(command(tmp_path, big, 0), stdout=subprocess.PIPE) for _ in range(3)]
    heard = [sum(map(int, run.communicate(timeout=60)[0].split())) for run in runs]
    assert heard == [len(BIG)] * 3
    (blob,) = (tmp_path / "sha256").iterdir()
    assert blob.read_bytes() == BIG


def test_a_full_disk_is_one_line_and_the_part_stays(big: Item, tmp_path: Path) -> None:
    mounted = 'mount -t tmpfs -o size=128k none "$0" && "$@"; stat -c "%s" "$0"/sha256/*.part'
    told = subprocess.run(
        ["unshare", "-rm", "sh", "-c", mounted, tmp_path, *command(tmp_path, big, 0)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if "unshare" in told.stderr or "mount" in told.stderr:
        pytest.skip(told.stderr.strip())
    *_, line, size = told.stdout.splitlines()
    assert line.startswith(f"{tmp_path}: no room for x (300,000 bytes): free some")
    assert 0 < int(size) <= 128 * 1024
    assert told.stderr == ""


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_flipped_byte_in_a_registry_is_refused(
    machine: Machine, big: Item, tmp_path: Path
) -> None:
    digest = big.file.digest[7:]
    stored = machine.images / "docker/registry/v2/blobs/sha256" / digest[:2] / digest / "data"
    flipped(stored)
    try:
        with asking() as asked, pytest.raises(BundleError, match="came, the lock has sha256:"):
            fetch(tmp_path, big, asked.get)
    finally:
        flipped(stored)
    assert not (tmp_path / "sha256" / digest).exists()


def model(machine: Machine, name: str = "tiny:latest") -> PinnedModel:
    pinned = f"127.0.0.1:{machine.models_port}/library/{name}"
    return PinnedModel(name=pinned, digest=machine.model_digest)


def test_a_model_comes_as_its_registry_has_it(machine: Machine, tmp_path: Path) -> None:
    with asking(models.ACCEPT) as asked:
        found = models.resolve([model(machine)], asked)
        build(tmp_path, models.items(replace(lock(), models=found)), asked)
    host = f"127.0.0.1%3A{machine.models_port}"
    (manifest,) = (path for path in (tmp_path / "models/manifests").rglob("*") if path.is_file())
    assert manifest == tmp_path / "models/manifests" / host / "library/tiny/latest"
    (served,) = machine.models.glob("manifests/*/library/tiny/latest")
    assert manifest.read_bytes() == served.read_bytes()
    blobs = list((tmp_path / "models/blobs").iterdir())
    assert len(blobs) == len(found[0].layers) > 1
    for blob in blobs:
        assert blob.read_bytes() == (machine.models / "blobs" / blob.name).read_bytes()


def test_a_models_blob_is_gone_on_with_where_a_redirect_leads(
    machine: Machine, tmp_path: Path
) -> None:
    with asking(models.ACCEPT) as asked:
        found = models.resolve([model(machine)], asked)
        item = max(models.items(replace(lock(), models=found)), key=lambda each: each.file.size)
        content = (machine.models / "blobs" / item.file.digest.replace(":", "-")).read_bytes()
        (tmp_path / "sha256").mkdir()
        (tmp_path / "sha256" / f"{item.file.digest[7:]}.part").write_bytes(content[:1000])
        get, offsets = noted(asked)
        assert fetch(tmp_path, item, get).read_bytes() == content
    assert offsets == [1000]


def test_a_model_under_a_tag_that_moved_is_refused(machine: Machine, tmp_path: Path) -> None:
    with asking(models.ACCEPT) as asked:
        with pytest.raises(BundleError, match="the tag has moved"):
            models.resolve([model(machine, "other:latest")], asked)
        found = models.resolve([model(machine)], asked)
        (served,) = machine.models.glob("manifests/*/library/tiny/latest")
        before = served.read_bytes()
        served.write_bytes(before + b" ")
        try:
            with pytest.raises(BundleError, match=r"the lock says .*if its source changed it"):
                build(tmp_path, models.items(replace(lock(), models=found)), asked)
        finally:
            served.write_bytes(before)


def test_a_flipped_byte_in_a_model_is_refused(machine: Machine, tmp_path: Path) -> None:
    with asking(models.ACCEPT) as asked:
        found = models.resolve([model(machine)], asked)
        stored = machine.models / "blobs" / found[0].layers[0].digest.replace(":", "-")
        flipped(stored)
        try:
            with pytest.raises(BundleError, match="came, the lock has"):
                build(tmp_path, models.items(replace(lock(), models=found)), asked)
        finally:
            flipped(stored)


@pytest.fixture
def private(tmp_path: Path) -> Iterator[int]:
    """A registry in plain HTTP that asks for a login: its port."""
    (port,) = ports.free(1)
    passwords = tmp_path / "htpasswd"
    passwords.write_text(HTPASSWD)
    configuration = tmp_path / "registry.json"
    configuration.write_text(
        json.dumps({
            "version": "0.1",
            "log": {"level": "error"},
            "storage": {"filesystem": {"rootdirectory": str(tmp_path / "registry")}},
            "http": {"addr": f"127.0.0.1:{port}"},
            "auth": {"htpasswd": {"realm": "x", "path": str(passwords)}},
        })
    )  # fmt: skip
    with subprocess.Popen(["docker-registry", "serve", str(configuration)]) as server:
        until = time.monotonic() + 20
        while time.monotonic() < until and ports.is_free(port):
            time.sleep(0.05)
        yield port
        server.kill()


def test_a_login_is_docker_s_and_plain_http_is_for_this_machine(
    private: int, tmp_path: Path
) -> None:
    with pushing(f"http://127.0.0.1:{private}/v2/team/app/", LOGIN) as pusher:
        pin = pusher.image("amd64", b"ours", OCI_MANIFEST)["digest"]
    name, host = f"127.0.0.1:{private}/team/app:1@{pin}", f"127.0.0.1:{private}"
    with asking() as asked, pytest.raises(RegistryError, match=f"private: docker login {host}"):
        images.resolve([name], TARGET, asked)
    (tmp_path / "docker").mkdir()
    auths = {host: dict(zip(("username", "password"), LOGIN, strict=True))}
    Path(os.environ["DOCKER_CONFIG"], "config.json").write_text(json.dumps({"auths": auths}))
    with asking() as asked:
        found = images.resolve([name], TARGET, asked)
        build(tmp_path, images.items(lock(found)), asked)
    assert len(list((tmp_path / "images/blobs/sha256").iterdir())) == 3
