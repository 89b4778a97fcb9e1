"""A manifest comes back as it was written; what may not be in one is told with its place."""

import json
from dataclasses import asdict, replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.bundle import manifest, paths
from apuhost.bundle.manifest import Entry, Manifest, ManifestError, as_text, entry, made, parse

NAMES = st.sampled_from(("a", "b c", "ä", "가.gguf", "x_1%3a2.deb", "Z"))
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
DIGESTS = st.integers(0, 2**256 - 1).map("{:064x}".format)
ENTRIES = st.builds(Entry, PATHS, DIGESTS, st.integers(0, 2**50))


def listed(*names: str) -> Manifest:
    return made(3, "2026-11-30T09:00:00+00:00", "0.1.0", [entry(name, b"x") for name in names])


def text_of(*names: str, **fields: object) -> bytes:
    """What as_text would write, had nobody checked it."""
    unchecked = replace(listed(), files=tuple(entry(name, b"x") for name in names))
    return as_text(replace(unchecked, **fields)).encode()  # type: ignore[arg-type]


def fits(files: list[Entry]) -> bool:
    try:
        paths.check([*manifest.OWN, *(each.path for each in files)])
    except paths.PathError:
        return False
    return True


@given(st.lists(ENTRIES, max_size=4).filter(fits), st.randoms())
def test_it_comes_back_as_it_was_and_has_the_same_bytes_in_any_order(
    files: list[Entry], random: Random
) -> None:
    first = made(1, "then", "0.1.0", files)
    random.shuffle(files)
    text = as_text(made(1, "then", "0.1.0", files))
    assert text == as_text(first)
    assert parse(text.encode()) == first
    assert json.loads(text)["files"] == [asdict(each) for each in first.files]


def test_every_file_has_one_line_without_escapes() -> None:
    lines = as_text(listed("models/k ä 가.gguf", "apt/a_1%3a2.deb")).splitlines()
    digest = entry("x", b"x").sha256
    assert f'  {{"path": "apt/a_1%3a2.deb", "sha256": "{digest}", "size": 1}},' in lines
    assert f'  {{"path": "models/k ä 가.gguf", "sha256": "{digest}", "size": 1}}' in lines


def test_what_is_in_it_can_be_asked_for() -> None:
    found = listed("a", "b")
    assert (found.size, found.entry("b"), found.entry("c")) == (2, entry("b", b"x"), None)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        pytest.param(["/etc/passwd"], "not a relative path", id="absolute"),
        pytest.param(["../x"], "not a relative path", id="up"),
        pytest.param(["a/../../x"], "not a relative path", id="up within"),
        pytest.param(["./a"], "not a relative path", id="dot"),
        pytest.param(["a//b"], "not a relative path", id="empty name"),
        pytest.param(["a/"], "not a relative path", id="a folder"),
        pytest.param([""], "not a relative path", id="empty"),
        pytest.param(["a."], "not a relative path", id="ends with a dot"),
        pytest.param(["a /b"], "not a relative path", id="ends with a blank"),
        pytest.param(["a\\b"], "exFAT", id="backslash"),
        pytest.param(["host:5000/a"], "exFAT", id="colon"),
        pytest.param(['a"b'], "exFAT", id="quote"),
        pytest.param(["a\nb"], "control", id="newline"),
        pytest.param(["a\x1b[2Jb"], "control", id="escape"),
        pytest.param(["a\u202eb"], "control", id="turned round"),
        pytest.param(["ä" * 128], "too long a name", id="a long name"),
        pytest.param(["/".join(["a" * 99] * 11)], "too long", id="a long path"),
        pytest.param(["a", "a"], "there twice", id="twice"),
        pytest.param(["A", "a"], "there twice", id="only case"),
        pytest.param(["a\u0308", "ä"], "there twice", id="composed and not"),
        pytest.param(["a", "a/b"], "a file and a folder", id="under a file"),
        pytest.param(["A/b", "a"], "a file and a folder", id="under a file but for case"),
        pytest.param(["A/b", "a/c"], "also spelt", id="a folder in two cases"),
        pytest.param(["manifest.json"], "there twice", id="the manifest"),
        pytest.param(["Manifest.json.SIG"], "there twice", id="its signature"),
    ],
)
def test_a_path_that_may_not_be_is_never_written_nor_read(names: list[str], told: str) -> None:
    with pytest.raises(ManifestError, match=told):
        listed(*names)
    with pytest.raises(ManifestError, match=told):
        parse(text_of(*sorted(names)))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(b"", "the file: Invalid JSON", id="empty"),
        pytest.param(text_of("a")[:-9], "the file: Invalid JSON", id="cut"),
        pytest.param(b"\xff\xfe", "the file: Invalid JSON", id="no UTF-8"),
        pytest.param(b"[]", "the file: Input should be an object", id="a list"),
        pytest.param(b"{}", "serial: Field required", id="nothing"),
        pytest.param(text_of("b", "a"), "not sorted", id="order"),
        pytest.param(text_of(serial=0), "serial", id="serial"),
        pytest.param(text_of(format=2), "format", id="format"),
        pytest.param(text_of("a").replace(b"2d711642", b"2D711642"), "files.0.sha256", id="hash"),
        pytest.param(text_of("a").replace(b'size": 1', b'size": -1'), "files.0.size", id="size"),
        pytest.param(text_of("a").replace(b'size": 1', b'size": 1e3'), "files.0.size", id="1e3"),
        pytest.param(
            text_of("a").replace(b'size": 1', b'size": 9999999999999999'), "files.0.size", id="much"
        ),
        pytest.param(text_of("a").replace(b'"size"', b'"mode": 0, "size"'), "mode", id="unknown"),
        pytest.param(text_of("a") + b"\n", "not written as", id="a line more"),
        pytest.param(
            text_of("a").replace(b'"size"', b'"size": 2, "size"'), "not written as", id="twice"
        ),
    ],
)
def test_what_is_no_manifest_is_told_with_its_place(content: bytes, told: str) -> None:
    with pytest.raises(ManifestError, match=told):
        parse(content)


def test_there_are_only_so_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "MOST_FILES", 2)
    with pytest.raises(ManifestError, match="no more than 2"):
        listed("a", "b", "c")
