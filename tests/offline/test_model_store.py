"""Ollama's store as files: models, their digests, what is missing, what is kept aside."""

import hashlib
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, model_manifest, model_names, model_store
from apuhost.probes.files import TextFile, frame
from apuhost.probes.model_manifest import Layer
from apuhost.probes.model_store import KEPT, ModelStore

DIRECTORY = "/var/lib/docker/volumes/ollama/_data"
STORE = f"{DIRECTORY}/models"
MANIFEST = f"{STORE}/manifests/registry.ollama.ai/library/qwen3.6/35b"
OLLAMA = "application/vnd.ollama.image."
PARAMETERS = '{"num_batch":128,"num_ctx":32768,"stop":["<a>","<b>"]}'


def hexadecimal(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def layer(kind: str, content: str) -> dict[str, Any]:
    """A layer as the registry writes it."""
    digest = f"sha256:{hexadecimal(content)}"
    return {"mediaType": f"{OLLAMA}{kind}", "digest": digest, "size": len(content)}


LAYERS = [layer("model", "weights"), layer("template", "t"), layer("params", PARAMETERS)]
CONFIG = {**layer("", "config"), "mediaType": "application/vnd.docker.container.image.v1+json"}
TEXT = json.dumps({"schemaVersion": 2, "config": CONFIG, "layers": LAYERS})
BLOBS = {entry["digest"].replace(":", "-"): entry["size"] for entry in (*LAYERS, CONFIG)}
PARAMS_BLOB = TextFile(f"{STORE}/blobs/sha256-{hexadecimal(PARAMETERS)}", PARAMETERS)


def answer(*files: TextFile, blobs: dict[str, int] = BLOBS) -> str:
    """COMMAND's output: a store with these files."""
    listing = "\n".join(f"{name} {size}" for name, size in blobs.items())
    told = {"directory": DIRECTORY, "owner": "0:0", "free": " 123456789", "blobs": listing}
    ends = (*(TextFile(name, text) for name, text in told.items()), *files, TextFile("end", ""))
    return frame(ends)


def test_a_whole_model() -> None:
    found = model_store.parse(answer(TextFile(MANIFEST, TEXT), PARAMS_BLOB))
    assert (found.directory, found.owner, found.free_bytes) == (DIRECTORY, "0:0", 123456789)
    assert (found.blobs, found.partial, found.broken, found.kept) == (BLOBS, (), (), ())
    model = found.named("registry.ollama.ai/library/Qwen3.6:35b")
    assert found.models == (model,)
    assert model is not None
    assert (model.name, model.path) == ("qwen3.6:35b", MANIFEST)
    assert model.digest == hexadecimal(TEXT)
    assert [part.kind for part in model.layers] == ["model", "template", "params"]
    assert model.layers[0] == Layer(f"{OLLAMA}model", f"sha256:{hexadecimal('weights')}", 7)
    assert model.config.kind == "application/vnd.docker.container.image.v1+json"
    assert model.parameters == {"num_batch": 128, "num_ctx": 32768, "stop": ["<a>", "<b>"]}
    assert model.whole


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{TEXT}\n", id="a final newline"),
        pytest.param(f"\r\n{TEXT}\n\n", id="CRLF and empty lines"),
        pytest.param(json.dumps(json.loads(TEXT), indent=3), id="indented"),
        pytest.param(TEXT.replace('"schemaVersion"', '"ä\\u00e4\u2028"'), id="other than ASCII"),
    ],
)
def test_a_digest_is_that_of_the_bytes(text: str) -> None:
    found = model_store.parse(answer(TextFile(MANIFEST, text), PARAMS_BLOB))
    assert found.models[0].digest == hexadecimal(text)
    assert found.models[0].whole


def test_a_model_without_parameters() -> None:
    text = json.dumps({"config": CONFIG, "layers": LAYERS[:2]})
    model = model_store.parse(answer(TextFile(MANIFEST, text))).models[0]
    assert (model.parameters, model.whole) == ({}, True)


WEIGHTS = f"sha256-{hexadecimal('weights')}"


@pytest.mark.parametrize(
    ("blobs", "files", "partial"),
    [
        pytest.param({**BLOBS, WEIGHTS: 6}, (PARAMS_BLOB,), (), id="a short blob"),
        pytest.param(
            {name: size for name, size in BLOBS.items() if name != WEIGHTS}
            | {f"{WEIGHTS}-partial": 7, f"{WEIGHTS}-partial-0": 64},
            (PARAMS_BLOB,),
            (f"{WEIGHTS}-partial", f"{WEIGHTS}-partial-0"),
            id="an unfinished download",
        ),
        pytest.param({}, (), (), id="no blobs"),
        pytest.param(BLOBS, (), (), id="unreadable parameters"),
        pytest.param(
            BLOBS, (TextFile(PARAMS_BLOB.path, "num_ctx 5"),), (), id="parameters that are no JSON"
        ),
    ],
)
def test_a_model_that_is_not_whole(
    blobs: dict[str, int], files: tuple[TextFile, ...], partial: tuple[str, ...]
) -> None:
    found = model_store.parse(answer(TextFile(MANIFEST, TEXT), *files, blobs=blobs))
    assert not found.models[0].whole
    assert found.partial == partial
    assert not set(partial) & set(found.blobs)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        TEXT.replace("sha256:", "sha512:"),
        TEXT.replace('"layers": [', '"layers": ["x", '),
        TEXT.replace('"size": 7', '"size": "7"'),
        "\udcff",
        "[" * 9999,
    ],
)
def test_a_broken_manifest_is_named_and_no_model(text: str) -> None:
    found = model_store.parse(answer(TextFile(MANIFEST, text)))
    assert (found.models, found.broken) == ((), (MANIFEST,))


KEPT_AT = f"{KEPT}/hub.lan:5000/library/m/latest"


def test_kept_manifests_are_read_beside_the_store() -> None:
    text = f"{TEXT}\n"
    kept_files = (TextFile(f"{KEPT_AT}/manifest", text), TextFile(f"{KEPT_AT}/p", PARAMETERS))
    found = model_store.parse(answer(*kept_files, TextFile(MANIFEST, TEXT)))
    kept = found.kept_named("HUB.lan:5000/library/M")
    assert found.kept == (kept,)
    assert kept is not None
    assert kept.name == "hub.lan:5000/library/m:latest"
    assert (kept.path, kept.text) == (f"{KEPT_AT}/manifest", text)
    assert kept.digest == hexadecimal(text)
    assert kept.layers == found.models[0].layers
    assert kept.config == found.models[0].config
    assert kept.parameters == json.loads(PARAMETERS)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"manifest": TEXT}, id="no parameters"),
        pytest.param({"manifest": TEXT, "params": PARAMETERS[:-1]}, id="cut parameters"),
        pytest.param({"manifest": TEXT[:-1], "params": PARAMETERS}, id="cut manifest"),
        pytest.param({"manifest.new": TEXT, "params": PARAMETERS}, id="not in its place yet"),
    ],
)
def test_what_is_not_kept_whole_is_not_kept(files: dict[str, str]) -> None:
    kept = (TextFile(f"{KEPT_AT}/{name}", text) for name, text in files.items())
    found = model_store.parse(answer(*kept))
    assert (found.kept, found.broken) == ((), ())


OFFER = "/run/apuhost/offer-1"
CONFIG_TEXT = '{"model_format":"gguf","requires":"0.33.0"}'
OFFERED_CONFIG = {**CONFIG, "digest": f"sha256:{hexadecimal(CONFIG_TEXT)}", "size": 43}
OFFERED = json.dumps({"config": OFFERED_CONFIG, "layers": LAYERS})
FILES = {
    "manifest": OFFERED,
    "container.image.v1": CONFIG_TEXT,
    "ollama.image.params": PARAMETERS,
    "said": "",
}


def offer(files: dict[str, str]) -> str:
    return frame(tuple(TextFile(f"{OFFER}/{name}", text) for name, text in files.items()))


def test_what_a_registry_offers() -> None:
    found = model_manifest.parse_offer(offer(FILES))
    assert found.digest == hexadecimal(OFFERED)
    assert [layer.kind for layer in found.layers] == ["model", "template", "params"]
    assert found.config.size == 43
    assert found.parameters == json.loads(PARAMETERS)
    assert found.requires == "0.33.0"


def test_an_offer_for_every_ollama() -> None:
    config = {**CONFIG, "digest": f"sha256:{hexadecimal('{}')}", "size": 2}
    text = json.dumps({"config": config, "layers": LAYERS[:2]})
    found = model_manifest.parse_offer(offer({"manifest": text, "config": "{}"}))
    assert (found.requires, found.parameters) == ("", {})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("manifest", None),
        ("manifest", "<html>"),
        ("container.image.v1", None),
        ("container.image.v1", "{}"),
        ("ollama.image.params", f"{PARAMETERS}\n"),
    ],
)
def test_an_offer_that_does_not_fit_together_is_refused(name: str, text: str | None) -> None:
    files = {key: value for key, value in {**FILES, name: text}.items() if value is not None}
    with pytest.raises(ParseError):
        model_manifest.parse_offer(offer(files))


def test_without_a_container_and_a_volume_there_is_no_store() -> None:
    assert model_store.parse(frame((TextFile("end", ""),))) == ModelStore(
        None, None, None, (), (), {}, (), ()
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "middle", id="nothing"),
        pytest.param(frame((TextFile("directory", STORE),)), "middle", id="no end"),
        pytest.param(answer(PARAMS_BLOB)[:-20], "frame", id="cut"),
        pytest.param(
            frame((TextFile("error", "docker does not answer"),)), "docker", id="no daemon"
        ),
    ],
)
def test_a_store_that_could_not_be_read_is_not_an_empty_one(text: str, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        model_store.parse(text)


@pytest.mark.parametrize(
    ("name", "full", "short", "path"),
    [
        (
            "qwen3.6:35b",
            "registry.ollama.ai/library/qwen3.6:35b",
            "qwen3.6:35b",
            "registry.ollama.ai/library/qwen3.6/35b",
        ),
        (
            "llama3",
            "registry.ollama.ai/library/llama3:latest",
            "llama3:latest",
            "registry.ollama.ai/library/llama3/latest",
        ),
        (
            "me/m:1.b",
            "registry.ollama.ai/me/m:1.b",
            "me/m:1.b",
            "registry.ollama.ai/me/m/1.b",
        ),
        (
            "hub.lan:5000/library/m",
            "hub.lan:5000/library/m:latest",
            "hub.lan:5000/library/m:latest",
            "hub.lan:5000/library/m/latest",
        ),
    ],
)
def test_names_in_full_in_short_and_as_a_path(name: str, full: str, short: str, path: str) -> None:
    assert model_names.full_name(name) == full
    assert model_names.full_name(full) == full
    assert model_names.short_name(name) == short
    assert model_names.short_name(full) == short
    assert model_names.manifest_path(name) == path
    assert model_names.name_at(f"/a/manifests/{path}") == short


PATHS = st.sampled_from(
    [MANIFEST, PARAMS_BLOB.path, f"{KEPT}/a/b/c/d/manifest", "blobs", "free", "x"]
)


@given(st.lists(st.tuples(PATHS, st.text(max_size=9) | st.sampled_from([TEXT, "x 1\n-partial 2"]))))
def test_no_files_raise_anything_else(files: list[tuple[str, str]]) -> None:
    with suppress(ParseError):
        found = model_store.parse(answer(*(TextFile(*file) for file in files)))
        assert len(found.models) + len(found.kept) + len(found.broken) <= len(files)
