"""What a build does not do again."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from tests.offline.test_bundle_lock import LOCK
from tests.offline.test_bundle_wants import FILE

from apuhost import lockfile, web
from apuhost.bundle import building, control, laying, manifest, toolkit
from apuhost.bundle.building import Order
from apuhost.bundle.item import BundleError
from apuhost.lockfile import Lock


def known(letter: str) -> tuple[str, bytes]:
    """A hash as in LOCK, and five bytes that can stand for it."""
    return letter * 64, f"is: {letter}".encode()


KNOWN = dict(map(known, "abcdef1238"))


def of_known_bytes(lock: Lock) -> Lock:
    text = lockfile.as_text(lock)
    for digest, content in KNOWN.items():
        text = text.replace(digest, hashlib.sha256(content).hexdigest())
    return lockfile.parse(text)


def test_where_everything_was_fetched_nobody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, told = of_known_bytes(replace(LOCK, files=(FILE,))), list[int]()
    (tmp_path / "sha256").mkdir()
    for content in KNOWN.values():
        (tmp_path / "sha256" / hashlib.sha256(content).hexdigest()).write_bytes(content)
    monkeypatch.setattr(building, "Registries", None)
    monkeypatch.setattr(web, "client", None)
    found = building._fetched(Order(lock, tmp_path, tmp_path, tmp_path), told.append)
    assert sum(told) == sum(item.file.size for item in found) == building.size(lock)


@pytest.mark.parametrize(
    ("here", "key", "told"),
    [
        pytest.param(f"{LOCK.apuhost}+other", "key", "the lock is for", id="checkout"),
        pytest.param(LOCK.apuhost, "nosuch", "nosuch: No such file", id="key"),
        pytest.param(LOCK.apuhost, ".", "no plain file", id="a folder for a key"),
    ],
)
def test_what_cannot_end_well_is_told_before_anything_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str, key: str, told: str
) -> None:
    monkeypatch.setattr(toolkit, "version", lambda _: here)
    (tmp_path / "key").touch()
    folder = tmp_path / "bundle"
    laying.claim(folder)
    (folder / manifest.SIGNATURE).write_text("of the last build")
    with pytest.raises(BundleError, match=told):
        building.build(Order(LOCK, tmp_path, tmp_path, tmp_path / key), folder, lambda _: None)
    assert (folder / manifest.SIGNATURE).exists()


def test_a_control_file_that_was_read_is_kept(tmp_path: Path) -> None:
    """In this tier no process starts, so dpkg-deb would not be there."""
    (tmp_path / "hex.control").write_bytes(b"Package: x\nMaintainer: \xff\n")
    assert control.of(tmp_path / "hex") == "Package: x\nMaintainer: \udcff\n"
