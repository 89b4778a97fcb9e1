"""Pinned models are resolved where their names say, and laid out as Ollama's store."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.answers import Registry, answer, digest

from apuhost.bundle import models
from apuhost.errors import ApuhostError
from apuhost.lockfile import Blob, Lock, Model, Target, as_text, parse
from apuhost.oci.credentials import Credentials
from apuhost.oci.manifests import DOCKER_MANIFEST
from apuhost.oci.registry import Registries
from apuhost.settings.models import PinnedModel

CONFIG = "application/vnd.docker.container.image.v1+json"
WEIGHTS = "application/vnd.ollama.image.model"
PATH = "library/qwen3"
URL = "https://registry.ollama.ai/v2/library/qwen3"


@pytest.fixture
def server() -> Registry:
    return Registry()


def model(server: Registry, path: str = PATH, tag: str = "8b", **changed: Any) -> str:  # noqa: ANN401
    """Keep a model; what pins it."""
    content = {
        "schemaVersion": 2,
        "mediaType": DOCKER_MANIFEST,
        "config": server.blob(path, b"{}", CONFIG),
        "layers": [server.blob(path, each, WEIGHTS) for each in (b"weights", b"license")],
        **changed,
    }
    return str(server.manifest(path, content, tag)["digest"]).removeprefix("sha256:")


def resolve(server: Registry, *asked: PinnedModel) -> tuple[Model, ...]:
    known = Credentials(Path("/x"))
    with Registries(known, models.ACCEPT, server.transport) as registries:
        return models.resolve(asked, registries)


def refused(server: Registry, asked: PinnedModel) -> str:
    """The one line."""
    with pytest.raises(ApuhostError) as caught:
        resolve(server, asked)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def lock(*found: Model) -> Lock:
    target = Target("debian", "trixie", "amd64", "3.13")
    return Lock(1, "2026-11-30T09:00:00+00:00", "0.1.0", target, models=found)


def test_a_model_is_what_its_manifest_names(server: Registry) -> None:
    pin = model(server)
    (found,) = resolve(server, PinnedModel(name="qwen3:8b", digest=pin))
    assert (found.name, found.manifest.digest) == ("qwen3:8b", f"sha256:{pin}")
    blobs = [Blob(digest(each), len(each)) for each in (b"weights", b"license", b"{}")]
    assert list(found.layers) == blobs
    assert parse(as_text(lock(found))).models == (found,)
    (asked,) = server.asked
    assert str(asked.url) == f"{URL}/manifests/8b"
    assert asked.headers["Accept"].split(",")[0] == DOCKER_MANIFEST


def test_a_model_without_a_pin_is_pinned_by_the_lock(server: Registry) -> None:
    pin = model(server)
    assert resolve(server, PinnedModel(name="qwen3:8b"))[0].manifest.digest == f"sha256:{pin}"


def test_another_digest_than_the_inventorys_is_refused(server: Registry) -> None:
    found, pin = model(server), "a" * 64
    told = refused(server, PinnedModel(name="qwen3:8b", digest=pin))
    assert told.startswith(f"qwen3:8b: its registry has {found}, models_list pins {pin}: ")


@pytest.mark.parametrize(
    ("name", "host", "path", "tag"),
    [
        ("qwen3", "registry.ollama.ai", "library/qwen3", "latest"),
        ("me/qwen3:8b", "registry.ollama.ai", "me/qwen3", "8b"),
        ("hf.co/Org/Repo-GGUF:Q4_K_M", "hf.co", "Org/Repo-GGUF", "Q4_K_M"),
        ("models.example:8443/team/m:1", "models.example:8443", "team/m", "1"),
    ],
)
def test_a_name_says_which_registry_is_asked_and_where_it_lies(
    server: Registry, name: str, host: str, path: str, tag: str
) -> None:
    model(server, path, tag)
    found = resolve(server, PinnedModel(name=name))
    assert [str(each.url) for each in server.asked] == [f"https://{host}/v2/{path}/manifests/{tag}"]
    *blobs, manifest = models.items(lock(*found))
    assert manifest.path == f"models/manifests/{host.replace(':', '%3A')}/{path}/{tag}"
    assert manifest.url == str(server.asked[0].url)
    hexes = [digest(each)[7:] for each in (b"weights", b"license", b"{}")]
    assert [item.path for item in blobs] == [f"models/blobs/sha256-{each}" for each in hexes]
    assert {item.url.rpartition("/")[0] for item in blobs} == {f"https://{host}/v2/{path}/blobs"}


def test_models_are_sorted_and_share_blobs(server: Registry) -> None:
    model(server)
    model(server, tag="4b", layers=[server.blob(PATH, b"weights", WEIGHTS)])
    found = resolve(server, *(PinnedModel(name=f"qwen3:{tag}") for tag in ("8b", "4b")))
    assert [each.name for each in found] == ["qwen3:4b", "qwen3:8b"]
    paths = [item.path for item in models.items(lock(*found))]
    assert len(paths) == len(set(paths)) == 5  # of two manifests and five blobs, two are the same
    assert list(models.texts(lock(*found))) == []


def test_a_model_of_several_hosts_is_carried_once(server: Registry) -> None:
    pin = model(server)
    asked = [PinnedModel(name="qwen3:8b", digest=each) for each in (pin, "", pin)]
    assert len(resolve(server, *asked)) == 1
    with pytest.raises(ApuhostError, match=f"has {pin}, models_list pins {'b' * 64}"):
        resolve(server, *asked, PinnedModel(name="qwen3:8b", digest="b" * 64))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(b"", "no manifest of a model", id="nothing"),
        pytest.param(b"\xff\xfe", "no manifest of a model", id="no text"),
        pytest.param(b"[]", "no manifest of a model", id="a list"),
        pytest.param(b"{}", "no manifest of a model (a layer without a digest)", id="empty"),
        pytest.param(
            b'{"config": {"digest": "sha256:%s"}}' % (b"a" * 64), "has no size", id="no size"
        ),
    ],
)
def test_what_is_no_model_is_told(server: Registry, text: bytes, told: str) -> None:
    server.put(PATH, "8b", text, DOCKER_MANIFEST)
    assert told in refused(server, PinnedModel(name="qwen3:8b"))


@pytest.mark.parametrize(
    ("status", "told"),
    [(401, "refused (401)"), (404, "answered 404"), (412, "answered 412"), (500, "answered 500")],
)
def test_a_registry_that_refuses_is_told(server: Registry, status: int, told: str) -> None:
    server.refuse = lambda _: answer(status)
    assert f"{URL}/manifests/8b: {told}" in refused(server, PinnedModel(name="qwen3:8b"))
