"""Who states which licence: never guessed, and told of every file that it is for."""

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.offline.test_bundle_lock import LOCK

from apuhost.bundle import blobs, copyrights, licences
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


@pytest.mark.parametrize(
    ("text", "link", "told"),
    [
        (COPYRIGHT, "", "Expat; GPL-2+ with OpenSSL exception"),
        (f"\n{COPYRIGHT}", "", "Expat; GPL-2+ with OpenSSL exception"),
        ("It was debianized\nLicense: see below\n", "", "in words: usr/share/doc/x/copyright"),
        (FORMAT, "", ""),
        ("", "", ""),
        ("", "gcc-14-base", "as gcc-14-base"),
        ("", "../liba/copyright", "as liba"),
        ("", "./libb", "as libb"),
    ],
)  # fmt: skip
def test_a_copyright_file_is_read_as_far_as_a_machine_can(text: str, link: str, told: str) -> None:
    assert copyrights.said(text, link, "x") == told


def test_a_package_that_says_it_itself_is_not_opened() -> None:
    control = "Package: x\nLicense: Apache-2.0\n"
    assert copyrights.of(Path("/nowhere"), "x", control) == "Apache-2.0"


def wheel(metadata: str, folder: Path) -> Path:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("x-1.dist-info/METADATA", f"Name: x\n{metadata}\nLicense: no header\n")
    (folder / "wheel").write_bytes(packed.getvalue())
    return folder / "wheel"


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ("License-Expression: MIT OR Apache-2.0\nLicense: MIT\n", "MIT OR Apache-2.0"),
        ("License: text\nClassifier: License :: OSI Approved :: BSD License\n", "BSD License"),
        ("Classifier: License :: OSI Approved\nLicense: BSD\n", "BSD"),
        ("License: Copyright me\n        All rights\n", "Copyright me"),
        ("Summary: none\n", ""),
    ],
)  # fmt: skip
def test_a_wheels_metadata_says_it(metadata: str, told: str, tmp_path: Path) -> None:
    assert licences.wheel(wheel(metadata, tmp_path)) == told


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
    deb.with_name(f"{deb.name}.licence").write_text("Apache-2.0")
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


def test_a_bundle_of_nothing_states_its_toolkit() -> None:
    empty = replace(LOCK, images=(), debs=(), models=(), wheels=())
    (text,) = licences.texts(empty, lambda blob: Path(blob.digest))
    assert json.loads(text.content) == {"toolkit/": "Apache-2.0"}
