"""A rehearsal throws away what it made itself, and nothing of anybody else's."""

from pathlib import Path

import pytest

from apuhost.rehearsal import machine, making, registries, state
from apuhost.rehearsal.process import RehearsalError
from apuhost.rehearsal.state import Machine

SOMEBODYS = {"id_ed25519": "a key", "id_ed25519.pub": "its half", "config": "Host box1\n"}


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_folder_that_is_no_rehearsals_is_refused_and_stays(tmp_path: Path) -> None:
    for name, text in SOMEBODYS.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(RehearsalError, match="not a rehearsal's folder"):
        making.destroy(tmp_path)
    assert contents(tmp_path) == SOMEBODYS


def test_a_rehearsals_own_files_go_and_others_beside_them_stay(tmp_path: Path) -> None:
    made = Machine(tmp_path, 2222, state.USER, tmp_path, 5000, 5001)
    made.lock.touch()
    state.save(made)
    for folder in (made.ca.parent, made.images, made.models):
        folder.mkdir()
    for path in (made.disk, made.key, made.ca, made.server_key, *registries.files(made)):
        path.write_text("")
    (tmp_path / "notes").write_text("kept")
    making.destroy(tmp_path)
    assert contents(tmp_path) == {"notes": "kept"}


def test_it_is_isolated_from_its_next_start_on(tmp_path: Path) -> None:
    made = Machine(tmp_path, 2222, state.USER, tmp_path, 5000, 5001)
    state.save(made)
    assert machine.isolate(made).isolated
    assert state.load(tmp_path).isolated


def test_no_folder_is_no_machine(tmp_path: Path) -> None:
    making.destroy(tmp_path / "absent")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_ssh_keys_of_the_same_names_is_not_touched(tmp_path: Path) -> None:
    for name in ("id_ed25519", "id_ed25519.pub", "known_hosts"):
        (tmp_path / name).write_text("somebody's")
    with pytest.raises(RehearsalError, match="not a rehearsal's folder"):
        making.destroy(tmp_path)
    assert sorted(contents(tmp_path)) == ["id_ed25519", "id_ed25519.pub", "known_hosts"]
