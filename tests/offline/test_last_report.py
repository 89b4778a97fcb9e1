"""What the controller keeps of a host's last report."""

import os
from pathlib import Path

import pytest
from tests.support.rights import ordinary_user

from apuhost import last_report
from apuhost.last_report import LastReport, LastReportError

SEEN = LastReport("2026-11-28T06:00:00+00:00", {"kernel": "6.12", "Docker": "26.1"}, {"a": 5})


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    last_report.save(tmp_path / "reports", "box1", SEEN)
    assert last_report.load(tmp_path / "reports", "box1") == SEEN
    assert last_report.load(tmp_path / "reports", "box2") is None
    (file,) = (tmp_path / "reports").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_a_report_could_not_tell_stays(tmp_path: Path) -> None:
    last_report.save(tmp_path, "box1", SEEN)
    last_report.save(tmp_path, "box1", LastReport("2026-11-29", {"kernel": "6.13"}, {}))
    found = last_report.load(tmp_path, "box1")
    assert found == LastReport("2026-11-29", {"kernel": "6.13", "Docker": "26.1"}, {})
    assert found is not None
    assert found.day == "2026-11-29"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"gathered": "", "versions": [], "boots": {}}', "[" * 9999,
     '{"gathered": "", "versions": {}, "boots": {"a": "x"}}'],
)  # fmt: skip
def test_a_damaged_one_is_told_and_written_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / "box1.json").write_text(text)
    found = last_report.load(tmp_path, "box1")
    assert found is not None
    assert "box1.json: not readable" in found.damage
    last_report.save(tmp_path, "box1", SEEN)
    assert last_report.load(tmp_path, "box1") == SEEN


@pytest.mark.parametrize("host", ["@local", "../x", "a/b", "bøx"])
def test_any_host_has_a_file_of_its_own(tmp_path: Path, host: str) -> None:
    folder = tmp_path / "reports"
    last_report.save(folder, host, SEEN)
    assert [path.parent for path in tmp_path.rglob("*.json")] == [folder]
    assert last_report.load(folder, host) == SEEN


def test_two_inventories_do_not_share_their_hosts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("APUHOST_STATE", str(tmp_path))
    one, other = (last_report.folder(Path(each)) for each in ("/a/site.py", "/b/site.py"))
    assert one != other
    assert one.parent == tmp_path / "reports"
    monkeypatch.setenv("APUHOST_STATE", "")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert last_report.folder(Path("/a/site.py")).parent == tmp_path / "xdg/apuhost/reports"


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LastReportError, match="will not tell what is new"):
        last_report.save(tmp_path / "file", "box1", SEEN)


def test_what_may_not_be_read_or_written_is_named_once(tmp_path: Path) -> None:
    last_report.save(tmp_path, "box1", SEEN)
    file = tmp_path / "box1.json"
    file.chmod(0o000)
    tmp_path.chmod(0o500)
    with ordinary_user():
        found = last_report.load(tmp_path, "box1")
        assert found is not None
        assert found.damage == f"{file}: Permission denied"
        with pytest.raises(LastReportError, match=f"^{file}: Permission denied: the next"):
            last_report.save(tmp_path, "box1", SEEN)


def test_a_full_disk_leaves_no_half_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LastReportError, match="No space left on device"):
        last_report.save(tmp_path, "box1", SEEN)
    assert list(tmp_path.iterdir()) == []
