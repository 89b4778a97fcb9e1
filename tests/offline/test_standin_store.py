"""The stand-in's model store and its models: facts/ollama.md sections 4 and 5."""

import hashlib
import json
import os
import time
from pathlib import Path

import pytest
from tests.support.imports import CORE, imported

from apuhost.probes import model_manifest
from apuhost.rehearsal.standin import gguf, model, models, names, projector, tiny
from apuhost.rehearsal.standin.names import Name
from apuhost.rehearsal.standin.store import InvalidDigestError, Store


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("store")
    model.write(folder)
    return Store(folder)


def load(store: Store, name: str) -> models.Model:
    return models.load(store, names.parse(name))


@pytest.mark.parametrize(
    ("text", "full", "shortest"),
    [
        ("tiny", "registry.ollama.ai/library/tiny:latest", "tiny:latest"),
        ("tiny:1.2", "registry.ollama.ai/library/tiny:1.2", "tiny:1.2"),
        ("me/tiny", "registry.ollama.ai/me/tiny:latest", "me/tiny:latest"),
        (
            "host:5000/library/tiny",
            "host:5000/library/tiny:latest",
            "host:5000/library/tiny:latest",
        ),
        ("http://host/a/b:c", "host/a/b:c", "host/a/b:c"),
    ],
)
def test_section_5_1_names_and_their_defaults(text: str, full: str, shortest: str) -> None:
    name = names.parse(text)
    assert (name.valid, name.full, name.shortest) == (True, full, shortest)


@pytest.mark.parametrize(
    "text", ["", ":", "a/", "/a", "a:", "x.y/m", "-a", "a b", "a@sha256:00", "m:" + "t" * 81]
)
def test_section_5_1_names_that_are_none(text: str) -> None:
    assert not names.parse(text).valid


def test_section_5_1_existing_names_are_matched_in_any_case(written: Store) -> None:
    assert written.existing(names.parse("TINY:Vision")).shortest == "tiny:vision"


def test_section_5_1_a_path_of_four_parts_is_a_manifest() -> None:
    assert names.from_path(Path("h/n/m/t")) == Name("h", "n", "m", "t")
    assert names.from_path(Path("h/n/m")) is None


def test_section_5_1_files_are_where_ollama_has_them(written: Store) -> None:
    assert (written.root / "manifests/registry.ollama.ai/library/tiny/latest").is_file()
    for blob in written.blobs_folder.iterdir():
        assert blob.name == f"sha256-{hashlib.sha256(blob.read_bytes()).hexdigest()}"
        assert blob.stat().st_mode & 0o777 == 0o644


def test_section_4_the_digest_is_the_manifest_file_s(written: Store) -> None:
    path = written.root / "manifests/registry.ollama.ai/library/tiny/latest"
    found = load(written, "tiny")
    assert found.manifest.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert models.listed(found)["digest"] == found.manifest.digest


def test_section_5_1_our_own_reader_takes_the_manifests(written: Store) -> None:
    for path in (written.root / "manifests").glob("*/*/*/*"):
        assert model_manifest.parse(path.read_text())


def test_section_4_a_listed_model_has_the_keys_and_its_size(written: Store) -> None:
    entry = models.listed(load(written, "tiny"))
    assert list(entry) == [
        "name", "model", "modified_at", "size", "digest", "details", "capabilities",
    ]  # fmt: skip
    assert entry["size"] == sum(
        written.blob(blob.digest).stat().st_size for blob in load(written, "tiny").manifest.blobs
    )
    assert entry["details"] == {
        "parent_model": "", "format": "gguf", "family": "llama", "families": ["llama"],
        "parameter_size": "124K", "quantization_level": "F16", "context_length": 262144,
        "embedding_length": 64,
    }  # fmt: skip


def test_section_4_show_prints_parameters_as_go_does() -> None:
    parameters = {
        "num_ctx": 262144, "big": 1048576, "temperature": 0.7, "stop": ["</s>", 'a"b'],
        "whole": 1.0, "small": 0.00001, "use_mmap": False, "none": 0,
    }  # fmt: skip
    assert models.parameter_lines(parameters) == [
        "num_ctx                        262144",
        "big                            1.048576e+06",
        "temperature                    0.7",
        'stop                           "</s>"',
        'stop                           "a\\"b"',
        "whole                          1",
        "small                          1e-05",
        "use_mmap                       false",
        "none                           0",
    ]


def test_section_4_show_tells_requires_and_the_training_context(written: Store) -> None:
    reply = models.shown(load(written, "tiny"), verbose=False)
    assert reply["requires"] == "0.30.0"
    assert isinstance(info := reply["model_info"], dict)
    assert info["llama.context_length"] == 262144
    assert info["tokenizer.ggml.tokens"] == []
    assert "FROM " + str(written.root) in str(reply["modelfile"])


def test_section_4_show_leaves_out_what_is_empty(written: Store) -> None:
    assert "parameters" not in models.shown(load(written, "needs-newer"), verbose=False)


def test_the_models_are_the_same_each_time(written: Store, tmp_path: Path) -> None:
    digests = model.write(tmp_path)
    assert digests == {name: load(written, name).manifest.digest for name in digests}


def test_two_tags_share_one_blob(written: Store) -> None:
    assert load(written, "tiny").path == load(written, "other").path
    assert load(written, "other").parameters == {"num_ctx": 4096, "num_batch": 256}


def test_section_3_3_only_the_hybrid_model_can_draft(written: Store) -> None:
    assert load(written, "hybrid").draft_kind == "draft-mtp"
    assert load(written, "tiny").draft_kind == ""


def test_a_projector_makes_a_model_see(written: Store) -> None:
    assert load(written, "tiny:vision").capabilities == ["completion", "vision"]
    assert load(written, "tiny").capabilities == ["completion"]


@pytest.mark.parametrize("make", [tiny.llama, tiny.hybrid, projector.clip])
def test_what_is_packed_is_read_back(make: object, tmp_path: Path) -> None:
    assert callable(make)
    path = tmp_path / "x.gguf"
    path.write_bytes(make())
    metadata = gguf.read(path)
    assert metadata.file_type == "F16"
    assert 0.9 < metadata.bytes_of() / path.stat().st_size < 1


@pytest.mark.parametrize("data", [b"", b"GGUF", b"not a model", b"GGUF" + bytes(12)])
def test_a_file_that_is_no_gguf_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="x: "):
        gguf.read(path)


def test_section_5_5_old_blobs_that_nothing_names_go_young_ones_stay(tmp_path: Path) -> None:
    model.write(tmp_path)
    store = Store(tmp_path)
    old, young = (store.add(data, "")[0].digest for data in (b"old", b"young"))
    partial = store.blobs_folder / f"sha256-{'0' * 64}-partial"
    partial.touch()
    for path in store.blobs_folder.iterdir():
        if path != store.blob(young):
            os.utime(path, (0, time.time() - 3700))
    looked_at, removed = store.prune()
    assert (looked_at, removed) == (len(store.in_use()) + 1, 1)
    assert not store.blob(old).exists()
    assert not partial.exists()
    assert store.blob(young).exists()
    assert all(store.blob(digest).exists() for digest in store.in_use())


def test_section_5_5_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.damaged() is None
    path = store.manifests_folder / "h/n/m/t"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    assert (store.damaged() or "").startswith("h/n/m:t ")
    assert list(store.manifests()) == []


def test_section_5_1_a_digest_is_a_sha256(tmp_path: Path) -> None:
    for digest in ("", "sha256:00", "../../etc/passwd", "md5:" + "0" * 32):
        with pytest.raises(InvalidDigestError, match="invalid digest format"):
            Store(tmp_path).blob(digest)


def test_removing_a_manifest_leaves_no_empty_folder(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write_manifest(names.parse("a/b/c:d"), b"{}")
    store.remove_manifest(names.parse("a/b/c:d"))
    assert list(store.manifests_folder.iterdir()) == []


def test_a_manifest_keeps_the_very_bytes(tmp_path: Path) -> None:
    data = json.dumps({"layers": [], "config": {}}, indent=3).encode()
    store = Store(tmp_path)
    store.write_manifest(names.parse("x"), data)
    assert (store.manifests_folder / names.parse("x").path).read_bytes() == data


def test_the_stand_in_imports_nothing_of_apuhost() -> None:
    for file in (CORE / "rehearsal" / "standin").glob("*.py"):
        assert not {name for name in imported(file) if name.split(".")[0] == "apuhost"}
