"""A bundle in volumes and back: at once, one after the other, and what stands in the way."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support import bundles

from apuhost.bundle import copying
from apuhost.bundle.copying import CutError
from apuhost.bundle.item import BundleError
from apuhost.bundle.joining import join
from apuhost.bundle.refusal import DamagedError, RefusedError
from apuhost.bundle.splitting import split
from apuhost.bundle.verifying import verified
from apuhost.bundle.volume import LIST, RECORD, VolumeError, as_text, parse

LIMIT = 9000


def untold(_: int) -> None:
    """Nobody listens."""


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory, made: Path) -> Path:
    folder = tmp_path_factory.mktemp("cut")
    split(made, folder, untold, LIMIT)
    return folder


@pytest.fixture
def volumes(tmp_path: Path, cut: Path) -> Path:
    return Path(shutil.copytree(cut, tmp_path / "volumes"))


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_each_volume_is_within_the_limit_and_small_files_are_as_they_were(
    cut: Path, made: Path
) -> None:
    folders = sorted(cut.iterdir())
    assert [each.name for each in folders] == [f"volume-0{n}" for n in range(1, len(folders) + 1)]
    assert len(folders) > 3
    assert all(sum(map(len, contents(each).values())) <= LIMIT for each in folders)
    whole = contents(made)
    carried = {name: data for each in folders for name, data in contents(each).items()}
    kept = {name for name in whole if name in carried}
    assert set(whole) - kept == {"images/blobs/sha256/aa", "models/blobs/sha256-bb"} - kept
    assert all(carried[name] == whole[name] for name in kept)


def test_all_at_once_make_the_bundle_again(
    volumes: Path, made: Path, keys: Path, tmp_path: Path
) -> None:
    told: list[int] = []
    assert join([volumes], tmp_path / "joined", told.append) == ()
    assert contents(tmp_path / "joined") == contents(made)
    assert sum(told) == sum(map(len, contents(made).values()))
    assert verified(tmp_path / "joined", keys / "signers", untold).lock == bundles.locked()


def test_one_after_the_other_in_any_order_name_what_is_missing(
    volumes: Path, made: Path, tmp_path: Path
) -> None:
    folders = sorted(volumes.iterdir(), reverse=True)
    left = set(range(1, len(folders) + 1))
    for each in folders:
        left.remove(parse((each / LIST).read_bytes()).number)
        assert join([each], tmp_path / "joined", untold) == tuple(sorted(left))
    assert contents(tmp_path / "joined") == contents(made)


def test_a_volume_that_is_there_already_is_not_copied_again(volumes: Path, tmp_path: Path) -> None:
    told: list[int] = []
    join([volumes / "volume-01"], tmp_path / "joined", untold)
    missing = join([volumes / "volume-01"], tmp_path / "joined", told.append)
    assert (missing[0], told) == (2, [])


def test_never_more_than_the_bundle_is_on_the_disk(
    volumes: Path, made: Path, tmp_path: Path
) -> None:
    joined, whole = tmp_path / "joined", sum(map(len, contents(made).values()))
    lists = sum((each / LIST).stat().st_size for each in volumes.iterdir())

    def told(_: int) -> None:
        assert sum(map(len, contents(joined).values())) <= whole + lists

    join([volumes], joined, told)


def flipped(volumes: Path) -> None:
    path = next((volumes / "volume-02").rglob("*.from-*"))
    path.write_bytes(b"X" + path.read_bytes()[1:])


def short(volumes: Path) -> None:
    os.truncate(next((volumes / "volume-02").rglob("*.from-*")), 5)


def gone(volumes: Path) -> None:
    next((volumes / "volume-02").rglob("*.from-*")).unlink()


def linked(volumes: Path) -> None:
    path = next((volumes / "volume-02").rglob("*.from-*"))
    path.unlink()
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (flipped, "changed: other bytes than its volume's list says"),
        (short, r"has not \d+ bytes"),
        (gone, "missing"),
        (linked, "is a symbolic link"),
    ],
)
def test_a_bad_volume_is_named_and_a_good_copy_of_it_completes(
    cut: Path, volumes: Path, made: Path, spoil: Callable[[Path], None], told: str
) -> None:
    spoil(volumes)
    joined = volumes.with_name("joined")
    with pytest.raises(DamagedError, match=rf"/volume-02/\S+\.from-\d+: {told}") as caught:
        join([volumes], joined, untold)
    assert len(caught.value.faults) == 1
    again: list[int] = []
    assert join([cut / "volume-02"], joined, again.append) == ()
    assert contents(joined) == contents(made)
    assert 0 < sum(again) < LIMIT


def test_a_volume_whose_list_is_missing_or_cut_is_named(volumes: Path, tmp_path: Path) -> None:
    os.truncate(volumes / "volume-02" / LIST, 20)
    with pytest.raises(RefusedError, match=rf"volume-02/{LIST}: the file: Invalid JSON"):
        join([volumes], tmp_path / "joined", untold)
    (volumes / "volume-02" / LIST).unlink()
    with pytest.raises(RefusedError, match=rf"volume-02/{LIST}: missing"):
        join([volumes], tmp_path / "joined", untold)


def listed_without(path: Path, name: str) -> None:
    """Take a part out of a volume's list, as no stick does by itself."""
    whole = parse((path / LIST).read_bytes())
    parts = tuple(part for part in whole.parts if part.path != name)
    (path / LIST).write_text(as_text(replace(whole, parts=parts)), encoding="utf-8")


@pytest.mark.parametrize(
    ("number", "name", "told"),
    [
        (1, "manifest.json", "manifest.json: not the one the volumes are of"),
        (2, "models/blobs/sha256-bb", "sha256-bb: its parts do not make the file"),
    ],
)
def test_lists_that_do_not_make_the_bundle_are_told(
    volumes: Path, tmp_path: Path, number: int, name: str, told: str
) -> None:
    folder = next(
        each
        for each in sorted(volumes.iterdir())[number - 1 :]
        if name in (each / LIST).read_text()
    )
    listed_without(folder, name)
    with pytest.raises(DamagedError, match=told):
        join([volumes], tmp_path / "joined", untold)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        pytest.param("/proc/self/mem", "cannot be read: Input/output error", id="scratched"),
        pytest.param("/dev/null", "ends before it should", id="short"),
    ],
)
def test_it_is_the_source_that_is_told_where_it_cannot_be_read(
    tmp_path: Path, source: str, told: str
) -> None:
    """/proc/self/mem has nothing at 0 and says EIO, as a scratched disc does."""
    with (
        Path(source).open("rb", buffering=0) as stream,
        (tmp_path / "sink").open("wb") as sink,
        pytest.raises(CutError, match=told),
    ):
        copying.copy(stream, sink, 5, untold)


def test_a_volume_twice_is_named(volumes: Path, tmp_path: Path) -> None:
    shutil.copytree(volumes / "volume-02", volumes / "volume-09")
    with pytest.raises(VolumeError, match=r"volume 2 is there twice: .*-02 and .*-09"):
        join([volumes], tmp_path / "joined", untold)


@pytest.mark.parametrize("limit", [LIMIT, LIMIT + 2000])
def test_volumes_of_two_bundles_or_of_two_splits_are_not_mixed(
    volumes: Path, made: Path, keys: Path, tmp_path: Path, limit: int
) -> None:
    other = made
    if limit == LIMIT:
        other = tmp_path / "other"
        bundles.write(other, keys / "ours", 4)
    split(other, tmp_path / "others", untold, limit)
    shutil.rmtree(volumes / "volume-02")
    mixed = [volumes, tmp_path / "others" / "volume-02"]
    with pytest.raises(VolumeError, match="volume-02: of another bundle, or split another way"):
        join(mixed, tmp_path / "joined", untold)
    join(mixed[:1], tmp_path / "later", untold)
    with pytest.raises(VolumeError, match="volume-02: of another bundle, or split another way"):
        join(mixed[1:], tmp_path / "later", untold)


def test_a_join_that_was_cut_off_goes_on(
    volumes: Path, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def killed(count: int) -> None:
        calls.append(count)
        if len(calls) == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        join([volumes], tmp_path / "joined", killed)
    (tmp_path / "joined" / RECORD / "volume-99").mkdir()
    assert join([volumes], tmp_path / "joined", untold) == ()
    assert contents(tmp_path / "joined") == contents(made)


def test_only_an_empty_folder_is_filled(volumes: Path, made: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(VolumeError, match="is not empty, and no join was begun there"):
        join([volumes], tmp_path, untold)
    with pytest.raises(VolumeError, match="is not empty: give a new folder"):
        split(made, tmp_path, untold)
    with pytest.raises(VolumeError, match="neither a volume nor a folder of volumes"):
        join([made], tmp_path / "joined", untold)
    with pytest.raises(BundleError, match="mine"):
        join([volumes], tmp_path / "mine", untold)
    with pytest.raises(BundleError, match="mine"):
        split(made, tmp_path / "mine", untold)


def test_an_unsigned_or_shortened_bundle_is_not_split(made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "bundle"))
    os.truncate(folder / "models/blobs/sha256-bb", 10)
    with pytest.raises(VolumeError, match="sha256-bb: has not 14000 bytes"):
        split(folder, tmp_path / "one", untold, LIMIT)
    (folder / "manifest.json.sig").unlink()
    with pytest.raises(VolumeError, match="only a signed bundle is split"):
        split(folder, tmp_path / "two", untold, LIMIT)
