"""A bundle on its way to a mirror's host, over a real sshd: cut off, damaged, with no room left."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support import bundles
from tests.support.sshd import LACKING, Sshd

from apuhost.bundle import installing, load, manifest, receiving
from apuhost.bundle.item import BundleError
from apuhost.bundle.remote import HostError
from apuhost.bundle.verifying import Bundle, verified
from apuhost.probes.mirror_serving import BUNDLES, MARK
from apuhost.roles import CHECKOUT

pytestmark = pytest.mark.skipif(bool(LACKING), reason=", ".join(LACKING))

BIG = "models/blobs/sha256-big"
MIDDLE = "apt/pool/firmware ä_1_all.deb"
CONTENTS = {
    BIG: random.Random(1).randbytes(load.LARGE + 1_000_001),
    MIDDLE: random.Random(2).randbytes(load.LINKED + 1),
    "toolkit/folder with blanks/읽어 보기 é.md": b"read me",
    **{f"wheels/{number}.whl": b"wheel" * number for number in range(60)},
}
KILLS = 24

# What the command does with a bundle and a host, as a process that can be killed.
DRIVER = """
import json, sys
from pathlib import Path
from apuhost.bundle import installing
from apuhost.bundle.verifying import verified
from apuhost.inventory import Host
folder, signers, data = sys.argv[1:]
bundle = verified(Path(folder), Path(signers), lambda _: None)
print("verified", flush=True)
installing.install(bundle, Host("box", (), json.loads(data)), lambda _: None)
"""


def untold(_: int) -> None:
    """Nobody listens."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory, keys: Path) -> Bundle:
    folder = tmp_path_factory.mktemp("made") / "das Bündel 꾸러미"
    bundles.write(folder, keys / "ours", contents=CONTENTS)
    return verified(folder, keys / "signers", untold)


def tree(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if not path.is_dir())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def placed(box: Sshd, serial: int = 3) -> Path:
    return box.path(f"{BUNDLES}/{serial}")


def assert_whole(box: Sshd, bundle: Bundle) -> None:
    """The same files, nothing else, and the mark of this very manifest."""
    folder = placed(box, bundle.lock.serial)
    assert tree(folder) == tree(bundle.folder)
    mark = folder.with_name(f"{bundle.lock.serial}{MARK}").read_text().strip()
    assert mark == manifest.entry("", (folder / manifest.NAME).read_bytes()).sha256
    readable = {path.stat().st_mode & 0o777 for path in folder.rglob("*")}
    assert readable == {0o644, 0o755}


def installed(box: Sshd, bundle: Bundle) -> int:
    """Install it; how many bytes were read of it for that."""
    size = sum(path.stat().st_size for path in bundle.folder.rglob("*") if path.is_file())
    told: list[int] = []
    installing.install(bundle, box.host(), told.append)
    assert sum(told) == size
    return sum(told[1:])


def test_it_arrives_as_it_was_signed_and_once(box: Sshd, bundle: Bundle) -> None:
    installed(box, bundle)
    assert_whole(box, bundle)
    times = {path: path.stat().st_mtime_ns for path in placed(box).rglob("*.whl")}
    signed = sum((bundle.folder / name).stat().st_size for name in manifest.OWN)
    assert installed(box, bundle) == signed
    assert {path: path.stat().st_mtime_ns for path in times} == times


@pytest.mark.long
def test_killed_at_any_moment_it_is_completed(box: Sshd, bundle: Bundle, keys: Path) -> None:
    import json  # noqa: PLC0415

    def start() -> "subprocess.Popen[str]":
        words = [str(bundle.folder), str(keys / "signers"), json.dumps(box.data)]
        return subprocess.Popen(
            [sys.executable, "-c", DRIVER, *words],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT / "src")},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    began = time.monotonic()
    with start() as process:
        assert process.stdout is not None
        process.stdout.readline()
        began = time.monotonic()
        assert process.wait() == 0
    whole = time.monotonic() - began
    assert_whole(box, bundle)
    moments = random.Random(3)
    states = set()
    for kill in range(KILLS):
        if kill % 3 == 0:  # three kills in one another's wake, then a clean host
            shutil.rmtree(box.path("/var/lib/apuhost"), ignore_errors=True)
        with start() as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(moments.uniform(0, whole))
            process.send_signal(signal.SIGKILL)
        lies = box.path(BUNDLES)
        states.add(sum(path.stat().st_size for path in lies.rglob("*") if path.is_file()))
        if kill % 3 == 2:
            installed(box, bundle)
            assert_whole(box, bundle)
    assert len(states) > 2, "the kills did not hit different moments"


def test_a_cut_off_large_file_goes_on_where_it_ended(box: Sshd, bundle: Bundle) -> None:
    installed(box, bundle)
    os.truncate(placed(box) / BIG, load.LARGE)
    os.truncate(placed(box) / MIDDLE, 1000)
    signed = sum((bundle.folder / name).stat().st_size for name in manifest.OWN)
    assert installed(box, bundle) == 1_000_001 + len(CONTENTS[MIDDLE]) + signed
    assert_whole(box, bundle)


@pytest.mark.parametrize("path", [BIG, MIDDLE, "wheels/7.whl", "lock.json", manifest.NAME])
def test_a_flipped_byte_on_the_hosts_disk_is_found_and_mended(
    box: Sshd, bundle: Bundle, path: str
) -> None:
    installed(box, bundle)
    content = bytearray((placed(box) / path).read_bytes())
    content[len(content) // 2] ^= 1
    (placed(box) / path).write_bytes(content)
    installing.install(bundle, box.host(), untold)
    assert_whole(box, bundle)


def test_the_beginning_of_another_file_is_found_and_mended(box: Sshd, bundle: Bundle) -> None:
    (placed(box) / BIG).parent.mkdir(parents=True)
    (placed(box) / BIG).write_bytes(b"another model" * 1000)
    installing.install(bundle, box.host(), untold)
    assert_whole(box, bundle)


def test_what_is_not_the_bundles_goes_before_it_is_marked(box: Sshd, bundle: Bundle) -> None:
    installed(box, bundle)
    (placed(box) / "more" / "of").mkdir(parents=True)
    (placed(box) / "apt" / "left over ä").write_bytes(b"x")
    (placed(box) / "apt" / "away").symlink_to("/etc/passwd")
    (placed(box) / BIG).unlink()
    (placed(box) / BIG).symlink_to("/etc/hostname")
    before = Path("/etc/hostname").read_bytes()
    installing.install(bundle, box.host(), untold)
    assert_whole(box, bundle)
    assert Path("/etc/hostname").read_bytes() == before
    assert not (placed(box) / "more").exists()


def test_a_disk_that_is_too_small_is_told_with_numbers(box: Sshd, bundle: Bundle) -> None:
    box.path("/var/lib").joinpath("filler").write_bytes(bytes(50_000_000))
    try:
        with pytest.raises(HostError, match=r"^box: .* room for 1\d\.\d MB, and 19\.\d MB would"):
            installing.install(bundle, box.host(), untold)
        assert tree(box.path(BUNDLES)) == {}
    finally:
        box.path("/var/lib").joinpath("filler").unlink()


@pytest.mark.parametrize("after", [100_000, 10_000_000], ids=["small files", "a large one"])
def test_a_disk_that_fills_up_meanwhile_is_one_line_and_then_it_goes_on(
    box: Sshd, bundle: Bundle, after: int
) -> None:
    filler = box.path("/var/lib").joinpath("filler")
    seen = 0

    def told(count: int) -> None:
        nonlocal seen
        seen += count
        if seen > after and not filler.exists():
            box.sh("head -c 100M /dev/zero >/var/lib/filler || true")

    with pytest.raises(HostError) as caught:
        installing.install(bundle, box.host(), told)
    assert "No space left on device" in str(caught.value)
    assert "goes on where it ended" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not placed(box).with_name("3.whole").exists()
    filler.unlink()
    installing.install(bundle, box.host(), untold)
    assert_whole(box, bundle)


def test_a_disk_that_gives_back_other_bytes_is_no_place_for_it(
    box: Sshd, bundle: Bundle, tmp_path: Path
) -> None:
    wrong = tmp_path / "sha256sum"
    wrong.write_text("#!/bin/sh\necho lock.json: FAILED\nexit 1\n")
    wrong.chmod(0o755)
    box.sh(f"mount --bind {wrong} /usr/bin/sha256sum")
    try:
        with pytest.raises(HostError, match=r"^box: .*lock.json\): is it sound"):
            installing.install(bundle, box.host(), untold)
    finally:
        box.sh("umount /usr/bin/sha256sum")
    assert not placed(box).with_name("3.whole").exists()


def test_a_stick_that_reads_otherwise_the_second_time_is_named(
    box: Sshd, keys: Path, tmp_path: Path
) -> None:
    bundles.write(tmp_path / "b", keys / "ours", contents={BIG: CONTENTS[BIG]})
    found = verified(tmp_path / "b", keys / "signers", untold)
    (tmp_path / "b" / BIG).write_bytes(bytes(len(CONTENTS[BIG])))
    with pytest.raises(BundleError, match=f"{BIG}: other bytes than when it was hashed"):
        installing.install(found, box.host(), untold)
    assert not placed(box).with_name("3.whole").exists()


def test_a_manifest_that_reads_otherwise_the_second_time_vouches_for_nothing(
    box: Sshd, keys: Path, tmp_path: Path
) -> None:
    bundles.write(tmp_path / "b", keys / "ours", contents={BIG: CONTENTS[BIG]})
    found = verified(tmp_path / "b", keys / "signers", untold)
    installed(box, found)
    with (placed(box) / BIG).open("r+b") as stream:
        stream.write(b"other")
    unlisted = [each for each in found.manifest.files if each.path != BIG]
    text = manifest.as_text(replace(found.manifest, files=tuple(unlisted)))
    (tmp_path / "b" / manifest.NAME).write_text(text)
    placed(box).with_name(f"3{MARK}").unlink()
    with pytest.raises(BundleError, match=f"{manifest.NAME}: "):
        installing.install(found, box.host(), untold)
    assert not placed(box).with_name(f"3{MARK}").exists()


def test_the_next_bundle_links_what_the_one_before_has(
    box: Sshd, bundle: Bundle, keys: Path, tmp_path: Path
) -> None:
    installed(box, bundle)
    bundles.write(tmp_path / "b", keys / "ours", 4, {**CONTENTS, "wheels/7.whl": b"new"})
    following = verified(tmp_path / "b", keys / "signers", untold)
    assert installed(box, following) < 200_000
    assert_whole(box, following)
    assert_whole(box, bundle)
    assert (placed(box, 4) / BIG).samefile(placed(box) / BIG)


def test_a_link_to_what_was_damaged_before_is_mended_by_sending(
    box: Sshd, bundle: Bundle, keys: Path, tmp_path: Path
) -> None:
    installed(box, bundle)
    with (placed(box) / BIG).open("r+b") as stream:
        stream.write(b"damaged")
    bundles.write(tmp_path / "b", keys / "ours", 4, CONTENTS)
    following = verified(tmp_path / "b", keys / "signers", untold)
    installing.install(following, box.host(), untold)
    assert_whole(box, following)


def test_another_bundle_of_the_same_serial_leaves_the_first_as_it_is(
    box: Sshd, bundle: Bundle, keys: Path, tmp_path: Path
) -> None:
    installed(box, bundle)
    bundles.write(tmp_path / "b", keys / "ours", contents={BIG: b"other"})
    other = verified(tmp_path / "b", keys / "signers", untold)
    with pytest.raises(HostError, match="box: has another bundle of serial 3"):
        installing.install(other, box.host(), untold)
    assert_whole(box, bundle)


def test_two_at_once_do_not_mix(box: Sshd, bundle: Bundle) -> None:
    box.sh(f"mkdir -p {BUNDLES}")
    held = f"flock {BUNDLES}/../bundles.lock sleep 300"
    holder = subprocess.Popen(["nsenter", "-t", str(box.process.pid), "-m", "sh", "-c", held])
    try:
        time.sleep(1)
        short = receiving.SURVEY.replace("flock -w 60", "flock -w 1")
        from apuhost.bundle import remote  # noqa: PLC0415

        with pytest.raises(HostError, match="box: another install is at work on this host"):
            remote.run(box.host(), short)
    finally:
        box.sh(f"fuser -k {BUNDLES}/../bundles.lock || true")
        holder.kill()
        holder.wait()
