"""On another disk a bundle's files are copies: none is signed that was not hashed as it is."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from apuhost.bundle import cache, copies, laying
from apuhost.bundle.item import BundleError, Item, Text
from apuhost.lockfile import Blob

CONTENT = b"a package's bytes"
HEX = hashlib.sha256(CONTENT).hexdigest()
ITEM = Item("apt/pool/a.deb", Blob(f"sha256:{HEX}", len(CONTENT)), "https://files.example/a.deb")
STAMP = 946_684_800


@pytest.fixture
def cached(tmp_path: Path) -> Path:
    """The file in the cache."""
    blob = tmp_path / "cache" / "sha256" / HEX
    blob.parent.mkdir(parents=True)
    blob.write_bytes(CONTENT)
    os.utime(blob, (STAMP, STAMP))
    return blob


@pytest.fixture
def other_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_link(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", no_link)


def laid(folder: Path) -> Path:
    """The file in the bundle, after a build."""
    with copies.of(folder / "bundle", folder / "cache") as known:
        entry = laying.item(folder / "bundle", ITEM, folder / "cache", known)
    assert (entry.sha256, entry.size) == (HEX, len(CONTENT))
    return folder / "bundle" / ITEM.path


def rotten(path: Path) -> None:
    """Other bytes, no more and no fewer, and the same times."""
    before = path.stat() if path.exists() else None
    path.write_bytes(CONTENT[::-1])
    os.utime(path, (before.st_atime, before.st_mtime) if before else (STAMP, STAMP))


@pytest.mark.usefixtures("cached", "other_disk")
def test_a_rotten_copy_of_the_same_size_and_time_is_made_anew(tmp_path: Path) -> None:
    rotten(laid(tmp_path))
    assert laid(tmp_path).read_bytes() == CONTENT


@pytest.mark.usefixtures("other_disk")
def test_a_copy_passes_for_no_cached_file(tmp_path: Path, cached: Path) -> None:
    """Who copies it back with its time, over a bundle that is linked to the cache, writes there."""
    cached.touch()
    assert cache.has(tmp_path / "cache", ITEM)
    copy = laid(tmp_path)
    rotten(copy)
    shutil.copyfile(copy, cached)
    shutil.copystat(copy, cached)
    assert not cache.has(tmp_path / "cache", ITEM)


@pytest.mark.usefixtures("cached", "other_disk")
def test_a_copy_of_the_same_size_and_time_from_elsewhere_is_hashed(tmp_path: Path) -> None:
    where = tmp_path / "bundle" / ITEM.path
    where.parent.mkdir(parents=True)
    rotten(where)
    assert laid(tmp_path).read_bytes() == CONTENT


@pytest.mark.usefixtures("cached", "other_disk")
def test_a_copy_that_nobody_wrote_to_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = laid(tmp_path).stat()
    monkeypatch.setattr(hashlib, "file_digest", None)
    for _ in range(2):
        assert os.path.samestat(laid(tmp_path).stat(), before)


@pytest.mark.usefixtures("cached", "other_disk")
def test_what_was_hashed_before_an_end_is_known_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        copies.of(tmp_path / "bundle", tmp_path / "cache") as known,
    ):
        laying.item(tmp_path / "bundle", ITEM, tmp_path / "cache", known)
        raise KeyboardInterrupt
    monkeypatch.setattr(hashlib, "file_digest", None)
    laid(tmp_path)


@pytest.mark.usefixtures("other_disk")
def test_a_cached_file_that_is_rotten_is_not_laid(tmp_path: Path, cached: Path) -> None:
    rotten(cached)
    with pytest.raises(BundleError, match=f"{HEX}: changed: .* run this again"):
        laid(tmp_path)
    assert list((tmp_path / "bundle").rglob("*.*")) == []
    assert not cached.exists()


@pytest.mark.parametrize("spoil", [rotten, Path.touch])
def test_on_the_same_disk_a_copy_becomes_the_cached_file(
    tmp_path: Path, cached: Path, spoil: object
) -> None:
    where = tmp_path / "bundle" / ITEM.path
    where.parent.mkdir(parents=True)
    where.write_bytes(CONTENT)
    spoil(where)  # type: ignore[operator]
    assert laid(tmp_path).samefile(cached)


def test_a_link_in_the_place_of_a_file_is_none(tmp_path: Path, cached: Path) -> None:
    where = tmp_path / "bundle" / ITEM.path
    where.parent.mkdir(parents=True)
    where.symlink_to(cached)
    assert not laid(tmp_path).is_symlink()
    text = Text("lock.json", CONTENT)
    (tmp_path / "bundle" / text.path).symlink_to(cached)
    laying.text(tmp_path / "bundle", text)
    assert not (tmp_path / "bundle" / text.path).is_symlink()


def test_a_cache_of_links_gives_files(tmp_path: Path, cached: Path) -> None:
    cached.rename(tmp_path / "elsewhere")
    cached.symlink_to(tmp_path / "elsewhere")
    assert not laid(tmp_path).is_symlink()
    assert laid(tmp_path).read_bytes() == CONTENT


@pytest.mark.usefixtures("cached", "other_disk")
def test_where_no_record_can_be_kept_everything_is_hashed(tmp_path: Path) -> None:
    (tmp_path / "cache" / "copies").touch()
    rotten(laid(tmp_path))
    assert laid(tmp_path).read_bytes() == CONTENT
