"""A bundle that was tampered with is refused, with all that is wrong; a whole one is accepted."""

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import bundles
from tests.support.bundles import CONTENTS, IDENTITY

from apuhost import lockfile
from apuhost.bundle import hashing, manifest, serials, signature
from apuhost.bundle.item import BundleError
from apuhost.bundle.refusal import DamagedError, Fault, RefusedError
from apuhost.bundle.verifying import Bundle, verified

FILES = [*CONTENTS, "lock.json"]
BLOB = "models/blobs/sha256-bb"


@pytest.fixture
def bundle(tmp_path: Path, made: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "the bundle ä"))


def accept(bundle: Path, keys: Path, reason: str = "") -> Bundle:
    return verified(bundle, keys / "signers", lambda _: None, reason)


def refused(bundle: Path, keys: Path) -> str:
    with pytest.raises(RefusedError) as caught:
        accept(bundle, keys)
    assert not serials.record(bundles.locked().target).exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_whole_bundle_is_accepted_and_every_byte_told(bundle: Path, keys: Path) -> None:
    told: list[int] = []
    found = verified(bundle, keys / "signers", told.append)
    assert (found.lock, found.signer.identity) == (bundles.locked(), IDENTITY)
    assert [each.path for each in found.manifest.files] == sorted(FILES)
    assert sum(told) == found.manifest.size
    assert serials.record(found.lock.target).exists()


@pytest.mark.parametrize("path", [path for path in FILES if path != "toolkit/empty"])
def test_a_flipped_byte_in_any_file_is_found(bundle: Path, keys: Path, path: str) -> None:
    content = bytearray((bundle / path).read_bytes())
    content[len(content) // 2] ^= 1
    (bundle / path).write_bytes(content)
    assert f"damaged: {path}: changed: other bytes than the manifest's" in refused(bundle, keys)


@pytest.mark.parametrize("where", [0, 100, -3])
def test_a_flipped_byte_in_the_manifest_breaks_the_signature(
    bundle: Path, keys: Path, where: int
) -> None:
    content = bytearray((bundle / manifest.NAME).read_bytes())
    content[where] ^= 1
    (bundle / manifest.NAME).write_bytes(content)
    assert "this one was changed since" in refused(bundle, keys)


def truncated(path: Path) -> None:
    os.truncate(path, 100)


def longer(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b"x")


def missing(path: Path) -> None:
    path.unlink()


def linked(path: Path) -> None:
    path.rename(path.parent.parent.parent.parent / "away")
    path.symlink_to(path.parent.parent.parent.parent / "away")


def waiting(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def socket(path: Path) -> None:
    path.unlink()
    os.mknod(path, stat.S_IFSOCK | 0o600)


def folder_away(path: Path) -> None:
    away = path.parent.parent.parent.parent / "away"
    path.parent.rename(away)
    path.parent.symlink_to(away)


def extra(path: Path) -> None:
    path.with_name("sha256-cc").write_bytes(b"more")


def extra_link(path: Path) -> None:
    path.with_name("sha256-cc").symlink_to("/etc/passwd")


def extra_folder(path: Path) -> None:
    path.with_name("more").joinpath("of").mkdir(parents=True)


def extra_name(path: Path) -> None:
    path.with_name("a\n\x1b[2Jb").write_bytes(b"")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (truncated, f"{BLOB}: has 100 bytes, not 14000"),
        (longer, f"{BLOB}: has 14001 bytes, not 14000"),
        (missing, f"{BLOB}: missing"),
        (linked, f"{BLOB}: is a symbolic link, no plain file"),
        (socket, f"{BLOB}: is a device or a socket, no plain file"),
        (waiting, f"{BLOB}: is a FIFO, no plain file"),
        (folder, f"{BLOB}: is a folder, no plain file"),
        (folder_away, "models/blobs: is no folder"),
        (extra, "models/blobs/sha256-cc: not in the manifest"),
        (extra_link, "models/blobs/sha256-cc: not in the manifest"),
        (extra_folder, "models/blobs/more: not in the manifest"),
        (extra_name, r"models/blobs/a\n\x1b[2Jb: not in the manifest"),
    ],
)
def test_what_is_not_the_plain_file_that_it_should_be_is_named(
    bundle: Path, keys: Path, spoil: Callable[[Path], None], told: str
) -> None:
    spoil(bundle / BLOB)
    assert refused(bundle, keys) == f"{bundle}: damaged: {told}"


def test_all_that_is_wrong_is_named_at_once(bundle: Path, keys: Path) -> None:
    one, two = (bundle / path for path in ("images/index.json", "toolkit/empty"))
    one.rename(bundle / "kept")
    two.rename(one)
    (bundle / "kept").rename(two)
    (bundle / BLOB).unlink()
    for number in range(4):
        (bundle / f"more{number}").write_bytes(b"")
    with pytest.raises(DamagedError, match="and 2 more") as caught:
        accept(bundle, keys)
    assert [str(each) for each in caught.value.faults] == [
        "images/index.json: has 0 bytes, not 2",
        f"{BLOB}: missing",
        *(f"more{number}: not in the manifest" for number in range(4)),
        "toolkit/empty: has 2 bytes, not 0",
    ]


def test_swapped_models_are_both_named(tmp_path: Path, keys: Path) -> None:
    one, two = "models/blobs/sha256-b1", "models/blobs/sha256-b2"
    bundles.write(tmp_path, keys / "ours", contents={one: b"one", two: b"two"})
    (tmp_path / one).write_bytes(b"two")
    (tmp_path / two).write_bytes(b"one")
    said = refused(tmp_path, keys)
    assert one in said
    assert two in said


def test_the_manifest_of_another_bundle_does_not_fit(
    tmp_path: Path, bundle: Path, keys: Path
) -> None:
    bundles.write(tmp_path / "other", keys / "ours", 4, {BLOB: b"other weights"})
    for name in manifest.OWN:
        shutil.copy(tmp_path / "other" / name, bundle / name)
    with pytest.raises(DamagedError) as caught:
        accept(bundle, keys)
    assert {each.path for each in caught.value.faults} == {BLOB, "lock.json"}


def test_another_signer_is_refused(bundle: Path, keys: Path) -> None:
    signature.sign(bundle / manifest.NAME, keys / "other")
    assert "which is not in" in refused(bundle, keys)


def test_no_hash_is_asked_before_the_signature(bundle: Path, keys: Path) -> None:
    (bundle / BLOB).unlink()
    (bundle / manifest.SIGNATURE).unlink()
    assert refused(bundle, keys).endswith("sig: missing: the bundle is not signed")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xff", "lock.json: 'utf-8' codec"),
        (b"{}", "lock.json: serial: Field required"),
    ],
)
def test_a_signed_bundle_whose_lock_is_none_is_refused(
    tmp_path: Path, keys: Path, content: bytes, told: str
) -> None:
    bundles.write(tmp_path, keys / "ours", contents={"lock.json": content})
    assert told in refused(tmp_path, keys)


def test_a_lock_that_is_swapped_after_the_hashes_is_not_read(
    bundle: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = hashing.faults

    def swapping(folder: Path, listed: manifest.Manifest, told: hashing.Told) -> tuple[Fault, ...]:
        found = hashed(folder, listed, told)
        content = (folder / "lock.json").read_bytes()
        (folder / "lock.json").write_bytes(content.replace(b"trixie", b"bullse"))
        return found

    monkeypatch.setattr(hashing, "faults", swapping)
    assert "lock.json: not the manifest's" in refused(bundle, keys)


def test_a_lock_of_another_serial_than_the_manifest_is_refused(tmp_path: Path, keys: Path) -> None:
    other = lockfile.as_text(bundles.locked(9)).encode()
    bundles.write(tmp_path, keys / "ours", contents={"lock.json": other})
    assert "are of two bundles" in refused(tmp_path, keys)


def test_a_signed_text_that_is_no_manifest_is_refused(bundle: Path, keys: Path) -> None:
    (bundle / manifest.NAME).write_text('{"files": [{"path": "../../etc/passwd"}]}')
    signature.sign(bundle / manifest.NAME, keys / "ours")
    assert "manifest.json: serial: Field required" in refused(bundle, keys)


def test_an_old_serial_needs_a_reason(tmp_path: Path, bundle: Path, keys: Path) -> None:
    bundles.write(tmp_path / "newer", keys / "ours", 4)
    accept(bundle, keys)
    accept(tmp_path / "newer", keys)
    with pytest.raises(RefusedError, match=r"serial 3 .* is older than 4"):
        accept(bundle, keys)
    assert accept(bundle, keys, "4 does not boot").lock.serial == 3
    assert "4 does not boot" in serials.record(bundles.locked().target).read_text()


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_bare_host_needs_sed_and_sha256sum_alone(bundle: Path) -> None:
    """As the manifest's module says."""
    line = (manifest.__doc__ or "").strip().splitlines()[-1].strip()
    command = f"{line} | sha256sum -c --strict"
    done = shell(command, bundle)
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == sorted(f"{path}: OK" for path in FILES)
    (bundle / BLOB).write_bytes(b"other")
    assert shell(command, bundle).returncode == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_named(bundle: Path, keys: Path) -> None:
    (bundle / BLOB).chmod(0)
    assert f"{BLOB}: cannot be read: Permission denied" in refused(bundle, keys)


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path, keys: Path) -> None:
    with pytest.raises(BundleError, match="none: No such file"):
        accept(tmp_path / "none", keys)
