"""A lock comes back as it was written; what is none is told with the place."""

from dataclasses import replace

import pytest

from apuhost.lockfile import (
    Blob,
    Deb,
    Image,
    Lock,
    LockError,
    Model,
    Release,
    Target,
    Wheel,
    as_text,
    parse,
)


def blob(letter: str) -> Blob:
    return Blob(f"sha256:{letter * 64}", 5)


LOCK = Lock(
    serial=1,
    created="2026-11-30T09:00:00+00:00",
    apuhost="0.1.0",
    target=Target("debian", "trixie", "amd64", "3.13"),
    images=(
        Image(
            f"docker.io/ollama/ollama:0.34.4@sha256:{'a' * 64}",
            "application/vnd.oci.image.index.v1+json",
            (blob("a"), blob("b")),
            blob("c"),
            (blob("d"), blob("d")),
        ),
    ),
    releases=(Release("http://deb.example/debian", "trixie", ("main",), blob("e")),),
    debs=(
        Deb(
            "docker.io",
            "26.1.5+dfsg1-9",
            "amd64",
            "http://deb.example/docker.io.deb",
            blob("f"),
            f"sha256:{'e' * 64}",
        ),
    ),
    models=(Model("qwen3:8b", blob("1"), (blob("2"),)),),
    wheels=(Wheel("six-1.16.0-py2.py3-none-any.whl", "https://index.example/six.whl", blob("3")),),
)


@pytest.mark.parametrize(
    "lock", [LOCK, replace(LOCK, images=(), releases=(), debs=(), models=(), wheels=())]
)
def test_a_lock_comes_back_as_it_was_written(lock: Lock) -> None:
    assert parse(as_text(lock)) == lock
    assert as_text(parse(as_text(lock))) == as_text(lock)


def test_a_lock_shows_what_looks_like_another_letter_or_turns_the_line() -> None:
    lock = replace(LOCK, apuhost="0.1\u202e", models=(replace(LOCK.models[0], name="q\u0435n"),))
    assert parse(as_text(lock)) == lock
    assert as_text(lock).isascii()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "the file: Invalid JSON", id="empty"),
        pytest.param(as_text(LOCK)[:-9], "the file: Invalid JSON", id="cut"),
        pytest.param("[]", "the file: Input should be an object", id="a list"),
        pytest.param("{}", "serial: Field required", id="nothing"),
        pytest.param(as_text(LOCK).replace("aaaa", "AAAA", 1), "images.0.reference", id="a name"),
        pytest.param(as_text(LOCK).replace("cccc", "zzzz"), "images.0.config.digest", id="digest"),
        pytest.param(as_text(LOCK).replace("qwen3:8b", "../../8b"), "models.0.name", id="path"),
        pytest.param(as_text(LOCK).replace("qwen3:8b", "a/b/c/d"), "models.0.name", id="too long"),
        pytest.param(as_text(LOCK).replace(": 5", ": -5"), "size: Input should be", id="size"),
        pytest.param(as_text(LOCK).replace(": 5", ': "5"'), "a valid integer", id="a text"),
        pytest.param(as_text(LOCK).replace('"serial": 1', '"serial": 0'), "serial", id="serial"),
        pytest.param(as_text(LOCK).replace('"format": 1', '"format": 2'), "format", id="format"),
        pytest.param(as_text(LOCK).replace('docker.io"', '../x"'), "debs.0.name", id="a path"),
        pytest.param(as_text(LOCK).replace("26.1.5", "/26"), "debs.0.version", id="a version"),
        pytest.param(as_text(LOCK).replace("six-", "../six-"), "wheels.0.name", id="a wheel"),
        pytest.param(as_text(LOCK).replace("+00:00", "+09:00"), "created", id="no UTC"),
        pytest.param(as_text(LOCK).replace("-11-30T", "-11-31T"), "created", id="no day"),
        pytest.param(as_text(LOCK).replace("2026-", "٢٠٢٦-"), "created", id="other digits"),
        pytest.param(as_text(LOCK).replace('"debs"', '"rpms"'), "rpms: ", id="unknown"),
        pytest.param(
            as_text(LOCK).replace('"suite"', '"suit"', 1), "target.suit", id="in a record"
        ),
    ],
)
def test_what_is_no_lock_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(LockError, match=told):
        parse(text)
