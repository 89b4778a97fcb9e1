"""Pinned images are resolved for the target's platform, and keep the digest that pins them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.answers import Registry, digest, whole

from apuhost.bundle import images
from apuhost.errors import ApuhostError
from apuhost.lockfile import Blob, Image, Lock, Target, as_text, parse
from apuhost.oci.credentials import Credentials
from apuhost.oci.manifests import DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST
from apuhost.oci.registry import Registries

TARGET = Target("debian", "trixie", "amd64", "3.13")
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
PATH = "ollama/ollama"
NAME = "docker.io/ollama/ollama:0.34.4"
BASE = "https://registry-1.docker.io/v2/ollama/ollama"


@pytest.fixture
def server() -> Registry:
    return Registry()


def image(
    server: Registry,
    platform: str = "linux/amd64",
    media_type: str = OCI_MANIFEST,
    config_type: str = OCI_CONFIG,
) -> dict[str, Any]:
    """Keep an image of two layers, the lower one shared by all; its index entry."""
    members = dict(zip(("os", "architecture", "variant"), platform.split("/"), strict=False))
    layers = [server.blob(PATH, each, LAYER) for each in (b"shared", platform.encode())]
    content = {
        "schemaVersion": 2,
        "mediaType": media_type,
        "config": server.blob(PATH, json.dumps(members).encode(), config_type),
        "layers": layers,
    }
    return {**server.manifest(PATH, content), "platform": members}


def index(server: Registry, entries: Sequence[dict[str, Any]], media_type: str = OCI_INDEX) -> str:
    """Keep an index; its pinned name."""
    content = {"schemaVersion": 2, "mediaType": media_type, "manifests": entries}
    return f"{NAME}@{server.manifest(PATH, content)['digest']}"


def attestation(server: Registry, entry: dict[str, Any], platform: str) -> dict[str, Any]:
    """What buildx says of an image, beside it."""
    members = dict(zip(("os", "architecture"), platform.split("/"), strict=True))
    told = {
        "vnd.docker.reference.type": "attestation-manifest",
        "vnd.docker.reference.digest": entry["digest"],
    }
    return {**image(server, "linux/s390x"), "platform": members, "annotations": told}


def resolve(server: Registry, *references: str) -> tuple[Image, ...]:
    with Registries(Credentials(Path("/x")), transport=server.transport) as registries:
        return images.resolve(references, TARGET, registries)


def refused(server: Registry, *references: str) -> str:
    """The one line."""
    with pytest.raises(ApuhostError) as caught:
        resolve(server, *references)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def lock(*found: Image) -> Lock:
    return Lock(1, "2026-11-30T09:00:00+00:00", "0.1.0", TARGET, images=found)


@pytest.mark.parametrize(
    ("index_type", "media_type", "config_type"),
    [
        pytest.param(OCI_INDEX, OCI_MANIFEST, OCI_CONFIG, id="OCI"),
        pytest.param(DOCKER_LIST, DOCKER_MANIFEST, DOCKER_CONFIG, id="Docker"),
    ],
)
def test_an_index_leads_to_the_platforms_image(
    server: Registry, index_type: str, media_type: str, config_type: str
) -> None:
    own = image(server, "linux/amd64", media_type, config_type)
    other = image(server, "linux/arm64/v8", media_type, config_type)
    name = index(server, [other, attestation(server, own, "unknown/unknown"), own], index_type)
    (found,) = resolve(server, name)
    assert (found.reference, found.media_type) == (name, index_type)
    assert [blob.digest for blob in found.chain] == [name.partition("@")[2], own["digest"]]
    assert found.config == Blob(digest(b'{"os": "linux", "architecture": "amd64"}'), 40)
    assert [blob.size for blob in found.layers] == [len(b"shared"), len(b"linux/amd64")]
    assert parse(as_text(lock(found))).images == (found,)


def test_an_image_without_an_index_is_its_own_pin(server: Registry) -> None:
    own = image(server)
    (found,) = resolve(server, f"{NAME}@{own['digest']}")
    assert found.media_type == OCI_MANIFEST
    assert found.chain == (Blob(own["digest"], own["size"]),)


def test_an_attestation_is_no_platform(server: Registry) -> None:
    own = image(server, "linux/arm64")
    hidden = [attestation(server, own, each) for each in ("linux/amd64", "unknown/unknown")]
    name = index(server, [*hidden, own])
    assert refused(server, name) == (
        f"{name}: not for linux/amd64; it is there for linux/arm64: pin the digest of another one"
    )


def test_the_wrong_platform_is_told_with_those_that_there_are(server: Registry) -> None:
    entries = [image(server, each) for each in ("windows/amd64", "linux/arm/v7", "linux/amd6")]
    told = "not for linux/amd64; it is there for linux/amd6, linux/arm/v7, windows/amd64"
    assert told in refused(server, index(server, entries))
    alone = f"{NAME}@{image(server, 'linux/arm64')['digest']}"
    assert "not for linux/amd64; it is there for linux/arm64" in refused(server, alone)
    assert "it is there for none" in refused(server, index(server, []))


def test_an_index_that_lies_about_an_image_is_not_believed(server: Registry) -> None:
    entry = {**image(server, "linux/arm64"), "platform": {"os": "linux", "architecture": "amd64"}}
    assert "it is there for linux/arm64" in refused(server, index(server, [entry]))


def test_of_variants_the_plain_one_is_taken(server: Registry) -> None:
    plain, newer = image(server), image(server, "linux/amd64/v3")
    for entries in ([newer, plain], [plain, newer]):
        assert resolve(server, index(server, entries))[0].chain[1].digest == plain["digest"]
    assert resolve(server, index(server, [newer]))[0].chain[1].digest == newer["digest"]


def test_a_tag_without_a_digest_is_refused_unasked(server: Registry) -> None:
    assert refused(server, "ollama/ollama:0.34.4") == (
        f"ollama/ollama:0.34.4: no digest: write {NAME}@sha256:…, a tag may move"
    )
    assert server.asked == []


def test_two_spellings_of_a_name_are_one_image_and_the_names_are_sorted(server: Registry) -> None:
    pin = image(server)["digest"]
    names = [f"ollama/ollama:2@{pin}", f"docker.io/ollama/ollama:2@{pin}", f"{NAME}@{pin}"]
    found = [each.reference for each in resolve(server, *names)]
    assert found == [f"{NAME}@{pin}", f"docker.io/ollama/ollama:2@{pin}"]


def test_one_name_with_two_digests_is_refused(server: Registry) -> None:
    pins = [image(server, each)["digest"] for each in ("linux/amd64", "linux/arm64")]
    told = refused(server, *(f"{NAME}@{pin}" for pin in pins))
    assert told == f"{NAME}: stands here with two digests: leave one"


@pytest.mark.parametrize(
    ("text", "media_type", "told"),
    [
        pytest.param(b"", OCI_MANIFEST, "it is no manifest", id="nothing"),
        pytest.param(b"<html>", OCI_MANIFEST, "it is no manifest", id="a page"),
        pytest.param(b"[]", OCI_MANIFEST, "it is no manifest", id="a list"),
        pytest.param(b"[" * 100_000, OCI_MANIFEST, "it is no manifest", id="deep"),
        pytest.param(b"{}", OCI_MANIFEST, "it is no manifest", id="an empty one"),
        pytest.param(b"{}", OCI_INDEX, "it is no manifest", id="an empty index"),
        pytest.param(
            b'{"manifests": [{"digest": "sha256:../../x", "size": 1}]}',
            OCI_INDEX,
            "it is no manifest",
            id="a path",
        ),
        pytest.param(
            b'{"manifests": [{"digest": "sha256:%s", "size": -1}]}' % (b"a" * 64),
            OCI_INDEX,
            "it is no manifest",
            id="a size",
        ),
        pytest.param(
            b"{}",
            "application/vnd.docker.distribution.manifest.v1+prettyjws",
            "a manifest of the form application/vnd.docker.distribution.manifest.v1+prettyjws",
            id="schema 1",
        ),
        pytest.param(b"{}", "", "a manifest of the form (none)", id="no form"),
    ],
)
def test_what_is_no_manifest_is_told(
    server: Registry, text: bytes, media_type: str, told: str
) -> None:
    server.put(PATH, digest(text), text, media_type)
    assert f"{told}" in refused(server, f"{NAME}@{digest(text)}")


def test_an_artifact_is_no_image(server: Registry) -> None:
    chart = "application/vnd.cncf.helm.config.v1+json"
    pin = image(server, config_type=chart)["digest"]
    assert f"no image of containers, but {chart}" in refused(server, f"{NAME}@{pin}")


def test_an_index_in_an_index_is_refused(server: Registry) -> None:
    inner = index(server, [image(server)]).partition("@")[2]
    platform = {"os": "linux", "architecture": "amd64"}
    entry = {"mediaType": OCI_INDEX, "digest": inner, "size": 1, "platform": platform}
    assert "holds an index in its index" in refused(server, index(server, [entry]))


@pytest.mark.parametrize("text", [b"", b"[]", b"\xff"])
def test_a_configuration_that_cannot_be_read(server: Registry, text: bytes) -> None:
    config = server.blob(PATH, text, OCI_CONFIG)
    content = {"mediaType": OCI_MANIFEST, "config": config, "layers": []}
    pin = server.manifest(PATH, content)["digest"]
    assert "its configuration cannot be read" in refused(server, f"{NAME}@{pin}")


def test_a_manifest_with_other_bytes_than_the_pin_is_refused(server: Registry) -> None:
    pin = image(server)["digest"]
    server.refuse = lambda _: whole(b"{}")
    assert f"came, {pin} was asked for" in refused(server, f"{NAME}@{pin}")


def test_each_blob_is_fetched_once_from_its_registry(server: Registry) -> None:
    own, other = image(server), image(server, "linux/amd64/v3")
    first, second = (index(server, [each]) for each in (own, other))
    found = resolve(server, first, second.replace("0.34.4", "0.34.5"))
    items = list(images.items(lock(*found)))
    paths = [item.path for item in items]
    assert len(paths) == len(set(paths)) == 9  # of ten: one layer is the same
    urls = {item.url: item.file for item in items}
    assert urls[f"{BASE}/manifests/{own['digest']}"] == Blob(own["digest"], own["size"])
    assert urls[f"{BASE}/blobs/{digest(b'shared')}"] == Blob(digest(b"shared"), 6)
    assert f"images/blobs/sha256/{digest(b'shared')[7:]}" in paths


def test_the_layouts_index_names_the_pinned_manifests(server: Registry) -> None:
    name = index(server, [image(server)], DOCKER_LIST)
    pin = name.partition("@")[2]
    (found,) = resolve(server, name)
    layout, listed = images.texts(lock(found))
    assert (layout.path, listed.path) == ("images/oci-layout", "images/index.json")
    assert json.loads(layout.content) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = json.loads(listed.content)["manifests"]
    assert entry == {
        "mediaType": DOCKER_LIST,
        "digest": pin,
        "size": found.chain[0].size,
        "annotations": {"org.opencontainers.image.ref.name": NAME},
    }
    assert [layout, listed] == list(images.texts(lock(found)))


def test_a_lock_without_images_is_an_empty_layout() -> None:
    empty = replace(lock(), images=())
    assert list(images.items(empty)) == []
    assert json.loads(list(images.texts(empty))[1].content)["manifests"] == []
