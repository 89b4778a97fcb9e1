"""Real pip says which wheels another Python takes, and installs from them without an index."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.repository import NOTHING, TARGET

from apuhost import web
from apuhost.bundle import cache, wheels
from apuhost.bundle.item import BundleError
from apuhost.lockfile import Lock, Wheel
from apuhost.roles import CHECKOUT


def locked(*names: str) -> str:
    """The lines of requirements.lock for these packages."""
    text = (CHECKOUT / "requirements.lock").read_text()
    parts = text.replace("\n", "\0").replace("\0 ", "\n ").split("\0")
    return "".join(f"{part}\n" for part in parts if part.split("==")[0] in names)


def resolved(text: str, folder: Path, python: str = "3.13") -> tuple[Wheel, ...]:
    (folder / "requirements.lock").write_text(text)
    target = replace(TARGET, python=python)
    with web.client() as asking:
        get = web.getter(asking)
        return wheels.resolve(target, folder / "requirements.lock", folder / "cache", get)


def put(lock: Lock, folder: Path) -> None:
    """The wheels' part of a bundle's folder: what resolving has kept is not fetched."""
    with web.client() as asking:
        for item in wheels.items(lock):
            (folder / item.path).parent.mkdir(exist_ok=True)
            found = cache.fetch(folder / "cache", item, web.getter(asking))
            shutil.copyfile(found, folder / item.path)
    for text in wheels.texts(lock):
        (folder / text.path).write_bytes(text.content)


def test_wheels_of_another_python_are_found_and_installed_by_hash(tmp_path: Path) -> None:
    found = resolved(locked("markupsafe", "iniconfig"), tmp_path)
    assert [wheel.name.split("-")[0] for wheel in found] == ["iniconfig", "markupsafe"]
    assert "-cp313-cp313-" in found[1].name
    put(replace(NOTHING, wheels=found), tmp_path)
    installed(tmp_path / "wheels", tmp_path / "there")
    assert {each.name for each in (tmp_path / "there").iterdir()} >= {"markupsafe", "iniconfig"}


def installed(folder: Path, where: Path) -> None:
    """As a host of that Python would, without an index and with every hash."""
    tags = (word for tag in wheels.platforms("amd64") for word in ("--platform", tag))
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"),
            *("--find-links", str(folder), "--require-hashes", "--only-binary=:all:", *tags),
            *("--python-version", "3.13", "--target", str(where)),
            *("-r", str(folder / "requirements.txt")),
        ],
        check=True,
        env={key: value for key, value in os.environ.items() if not key.startswith("PIP_")},
    )


def test_a_package_without_a_wheel_for_that_python_is_named(tmp_path: Path) -> None:
    text = locked("librt", "six")
    with pytest.raises(BundleError, match=r"^librt==\S+ has no wheel for Python 3\.2 on amd64"):
        resolved(text, tmp_path, python="3.2")


def test_a_wheel_of_another_hash_is_not_trusted(tmp_path: Path) -> None:
    name = locked("iniconfig").split()[0]
    with pytest.raises(BundleError, match=r"iniconfig-\S+: its SHA-256 is none of those"):
        resolved(f"{name} --hash=sha256:{'0' * 64}\n", tmp_path)
