"""Who states which licence: never guessed, and told of every file that it is for."""

import io
import json
import subprocess
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.offline.test_bundle_lock import LOCK

from apuhost.bundle import blobs, copyrights, licences
from apuhost.bundle.copyrights import UNKNOWN
from apuhost.bundle.licences import NOT_STATED
from apuhost.lockfile import Blob

FORMAT = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
COPYRIGHT = f"""\
{FORMAT}
Files: *
Copyright: somebody
License: Expat

Files: debian/*
License: GPL-2+ with OpenSSL exception
 words

License: Expat
 Permission is hereby granted
"""

FOLDER = "./usr/share/doc/x"
FILE = f"{FOLDER}/copyright"
EXPAT, WORDS = "Expat; GPL-2+ with OpenSSL exception", "in words: usr/share/doc/x/copyright"

Members = list[tuple[tarfile.TarInfo, bytes]]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (COPYRIGHT, "Expat; GPL-2+ with OpenSSL exception"),
        (f"\n{COPYRIGHT}", "Expat; GPL-2+ with OpenSSL exception"),
        (f"\ufeff{COPYRIGHT}".replace("\n", "\r\n"), "Expat; GPL-2+ with OpenSSL exception"),
        ("It was debianized\nLicense: see below\n", "in words: usr/share/doc/x/copyright"),
        (FORMAT, ""),
        ("", ""),
        ("\n \n", ""),
    ],
)  # fmt: skip
def test_a_copyright_file_is_read_as_far_as_a_machine_can(text: str, told: str) -> None:
    assert copyrights.said(text, "x") == told


def member(path: str, content: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(path)
    info.size = len(content)
    for name, value in fields.items():
        setattr(info, name, value)
    return info, content


def link(target: str, path: str = FILE, kind: bytes = tarfile.SYMTYPE) -> Members:
    return [member(path, type=kind, linkname=target)]


def packed(members: Members) -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w") as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return into.getvalue()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(packed([member(FILE, COPYRIGHT.encode())])[:-1024], EXPAT, id="cut behind"),
        pytest.param(packed([member("usr/share/doc/x/copyright", b"x")]), WORDS, id="no dot"),
        pytest.param(packed([member(FILE)]), "", id="empty"),
        pytest.param(packed([member("./usr/bin/x", b"x")]), "", id="none"),
        pytest.param(packed([member(FILE, b"\xff\xfe\n")]), WORDS, id="not UTF-8"),
        pytest.param(
            packed([member(FILE, FORMAT.encode() + b"License: \xff\x1b[1m\n")]),
            "\ufffd\x1b[1m",
            id="not UTF-8, for machines",
        ),
        pytest.param(
            packed([member(FILE, COPYRIGHT.encode() + b"#" * (5 << 20))]), EXPAT, id="huge"
        ),
        pytest.param(packed(link("gcc-14-base", FOLDER)), "as gcc-14-base", id="a linked folder"),
        pytest.param(packed(link("./libb", FOLDER)), "as libb", id="a folder beside"),
        pytest.param(packed(link("../liba/copyright")), "as liba", id="another package's"),
        pytest.param(packed(link("/usr/share/doc/liba/copyright")), "as liba", id="absolute"),
        pytest.param(
            packed(link("/usr/share/common-licenses/GPL-3")), "GPL-3", id="a common licence"
        ),
        pytest.param(packed(link("../../common-licenses/BSD")), "BSD", id="up to a common one"),
        pytest.param(packed(link("copyright.txt")), UNKNOWN, id="to its own"),
        pytest.param(packed(link("copyright")), UNKNOWN, id="to itself"),
        pytest.param(packed(link("../../../../../etc/passwd")), UNKNOWN, id="to elsewhere"),
        pytest.param(packed(link("../\udcff/copyright")), UNKNOWN, id="to no UTF-8"),
        pytest.param(packed(link("./usr/bin/x", kind=tarfile.LNKTYPE)), UNKNOWN, id="a hard link"),
        pytest.param(packed([member(FILE, type=tarfile.FIFOTYPE)]), UNKNOWN, id="a FIFO"),
        pytest.param(b"", UNKNOWN, id="nothing unpacked"),
        pytest.param(b"noise" * 1000, UNKNOWN, id="noise"),
        pytest.param(packed([member(FILE, COPYRIGHT.encode())])[:700], UNKNOWN, id="cut"),
    ],
)
def test_of_an_odd_package_something_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, told: str
) -> None:
    class Unpacking:
        """dpkg-deb --fsys-tarfile."""

        def __init__(self, *_: object, **__: object) -> None:
            self.stdout = io.BytesIO(content)

        def __enter__(self) -> "Unpacking":
            return self

        def __exit__(self, *_: object) -> None:
            """It ended."""

        def terminate(self) -> None:
            """As asked."""

    monkeypatch.setattr(subprocess, "Popen", Unpacking)
    assert copyrights.of(tmp_path / "hex", "x", "Package: x\n") == told
    kept = (tmp_path / "hex.licences").exists()
    assert kept or told == UNKNOWN, "a newer dpkg-deb may unpack what this one cannot"


def test_a_package_that_says_it_itself_is_not_opened() -> None:
    control = "Package: x\nLicense: Apache-2.0\n"
    assert copyrights.of(Path("/nowhere"), "x", control) == "Apache-2.0"


def wheel(metadata: str, folder: Path) -> Path:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("x-1.dist-info/METADATA", f"Name: x\n{metadata}\nLicense: no header\n")
    (folder / "wheel").write_bytes(written.getvalue())
    return folder / "wheel"


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ("License-Expression: MIT OR Apache-2.0\nLicense: MIT\n", "MIT OR Apache-2.0"),
        ("License: text\nClassifier: License :: OSI Approved :: BSD License\n", "BSD License"),
        ("Classifier: License :: OSI Approved\nLicense: BSD\n", "BSD"),
        ("License: Copyright me\n        All rights\n", "Copyright me"),
        ("License: Lizenz f\u00fcr alle\n", "Lizenz f\u00fcr alle"),
        ("License-Expression: \u00e4\n", "\u00e4"),
        ("Summary: none\n", ""),
    ],
)  # fmt: skip
def test_a_wheels_metadata_says_it(metadata: str, told: str, tmp_path: Path) -> None:
    assert licences.wheel(wheel(metadata, tmp_path)) == told


def other_wheel(name: str) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, "License: MIT\n" * 9)
    return written.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"no wheel", id="no archive"),
        pytest.param(other_wheel("x/METADATA"), id="without metadata"),
        pytest.param(
            other_wheel("x.dist-info/METADATA").replace(b"\x08\x00", b"\x63\x00"), id="packed oddly"
        ),
        pytest.param(
            other_wheel("x.dist-info/METADATA").replace(b"METADATA\xf3", b"METADATA\xff"),
            id="damaged",
        ),
    ],
)
def test_of_a_wheel_that_cannot_be_read_it_is_unknown(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "wheel").write_bytes(content)
    assert licences.wheel(tmp_path / "wheel") == UNKNOWN


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A model with a licence, an image with a label, a wheel, a package."""
    layer = {"digest": LOCK.models[0].layers[0].digest, "mediaType": licences._LAYER}
    label = {"config": {"Labels": {licences.LABEL: "MIT"}}}
    contents = {
        LOCK.models[0].manifest: json.dumps({"layers": [layer]}).encode(),
        LOCK.models[0].layers[0]: b"\n\n  Some License v1 \nall of it\n",
        LOCK.images[0].config: json.dumps(label).encode(),
    }
    for blob, content in contents.items():
        place(blob, tmp_path).parent.mkdir(exist_ok=True)
        place(blob, tmp_path).write_bytes(content)
    deb = place(LOCK.debs[0].file, tmp_path)
    deb.with_name(f"{deb.name}.control").write_text("Package: docker.io\n")
    deb.with_name(f"{deb.name}.licences").write_text("Apache-2.0")
    wheel("Summary: none\n", tmp_path).rename(place(LOCK.wheels[0].file, tmp_path))
    return tmp_path


def place(blob: Blob, cache: Path) -> Path:
    return blobs.place(blob, cache)


def test_every_file_has_the_licence_of_its_thing(cache: Path) -> None:
    (text,) = licences.texts(LOCK, lambda blob: place(blob, cache))
    stated = json.loads(text.content)
    told = {
        "apt/pool/docker.io_26.1.5+dfsg1-9_amd64.deb": "Apache-2.0",
        f"models/blobs/sha256-{'2' * 64}": "Some License v1",
        "models/manifests/registry.ollama.ai/library/qwen3/8b": "Some License v1",
        f"images/blobs/sha256/{'d' * 64}": "MIT",
        "wheels/six-1.16.0-py2.py3-none-any.whl": NOT_STATED,
        "toolkit/src/apuhost/errors.py": "Apache-2.0",
        "lock.json": NOT_STATED,
    }
    assert {path: licences.of(path, stated) for path in told} == told


@pytest.mark.parametrize("config", [{}, {"config": None}, {"config": {"Labels": None}}])
def test_an_image_without_a_label_states_nothing(cache: Path, config: object) -> None:
    (image,) = LOCK.images
    place(image.config, cache).write_text(json.dumps(config))
    assert licences.of_image(image, lambda blob: place(blob, cache)) == ""


@pytest.mark.parametrize(
    "config",
    ["", "[]", '"x"', "{", "[" * 100_000, '{"config": []}', '{"config": {"Labels": ["MIT"]}}',
     '{"config": {"Labels": {"org.opencontainers.image.licenses": 7}}}'],
)  # fmt: skip
def test_of_an_odd_image_it_is_unknown(cache: Path, config: str) -> None:
    (image,) = LOCK.images
    place(image.config, cache).write_text(config)
    assert licences.of_image(image, lambda blob: place(blob, cache)) == UNKNOWN


@pytest.mark.parametrize(
    "manifest",
    [b"", b"[]", b"\xff", b'{"layers": {}}', b'{"layers": [7]}', b'{"layers": [{"digest": []}]}'],
)
def test_of_an_odd_model_it_is_unknown(cache: Path, manifest: bytes) -> None:
    (model,) = LOCK.models
    place(model.manifest, cache).write_bytes(manifest)
    assert licences.of_model(model, lambda blob: place(blob, cache)) == UNKNOWN


@pytest.mark.parametrize("label", ["\ud800", "x" * 1_000_000, "\x1b[2J"])
def test_whatever_is_stated_can_be_written(cache: Path, label: str) -> None:
    (image,) = LOCK.images
    config = {"config": {"Labels": {licences.LABEL: label}}}
    place(image.config, cache).write_text(json.dumps(config))
    (text,) = licences.texts(LOCK, lambda blob: place(blob, cache))
    assert len(text.content) < 50_000


def test_a_bundle_of_nothing_states_its_toolkit() -> None:
    empty = replace(LOCK, images=(), debs=(), models=(), wheels=())
    (text,) = licences.texts(empty, lambda blob: Path(blob.digest))
    assert json.loads(text.content) == {"toolkit/": "Apache-2.0"}
