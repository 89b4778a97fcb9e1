"""What a build does not do again."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.offline.test_bundle_lock import LOCK
from tests.offline.test_bundle_wants import FILE

from apuhost import web
from apuhost.bundle import blobs, building, control
from apuhost.bundle.building import Order


def test_where_everything_was_fetched_nobody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, told = replace(LOCK, files=(FILE,)), list[int]()
    for items in (items for _, items in building._WAYS):
        for item in items(lock):
            place = blobs.place(item.file, tmp_path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b"5 are")
    monkeypatch.setattr(building, "Registries", None)
    monkeypatch.setattr(web, "client", None)
    found = building._fetched(Order(lock, tmp_path, tmp_path, tmp_path), told.append)
    assert sum(told) == sum(item.file.size for item in found) == building.size(lock)


def test_a_control_file_that_was_read_is_kept(tmp_path: Path) -> None:
    """In this tier no process starts, so dpkg-deb would not be there."""
    (tmp_path / "hex.control").write_bytes(b"Package: x\nMaintainer: \xff\n")
    assert control.of(tmp_path / "hex") == "Package: x\nMaintainer: \udcff\n"
