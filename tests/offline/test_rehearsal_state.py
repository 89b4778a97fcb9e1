"""Where the rehearsal's files live and how its record survives damage."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from apuhost.commands import rehearse
from apuhost.rehearsal import state
from apuhost.rehearsal.process import RehearsalError
from apuhost.rehearsal.state import Machine, NoMachineError


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(
        tmp_path, 2222, "operator", tmp_path / "base", 5000, 5001,
        image="10.0.2.2:5000/a/b:1@sha256:00", model_digest="11",
    )  # fmt: skip


def test_what_is_saved_is_loaded(machine: Machine) -> None:
    state.save(machine)
    assert state.load(machine.directory) == machine


def test_an_isolated_machine_stays_one(machine: Machine) -> None:
    alone = replace(machine, isolated=True, cable=(6001, 6002))
    state.save(alone)
    assert state.load(machine.directory) == alone


def test_a_later_record_replaces_the_earlier_one(machine: Machine) -> None:
    state.save(machine)
    state.save(replace(machine, port=2223))
    assert state.load(machine.directory).port == 2223


def test_the_record_is_for_its_owner_only_and_nothing_temporary_stays(machine: Machine) -> None:
    state.save(machine)
    (record,) = machine.directory.iterdir()
    assert record.stat().st_mode & 0o777 == 0o600


def test_the_model_is_named_as_the_guest_reaches_it(machine: Machine) -> None:
    assert machine.model == "10.0.2.2:5001/library/tiny:latest"


def test_no_machine_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(NoMachineError, match="no rehearsal machine: run apuhost rehearse up"):
        state.load(tmp_path / "absent")


RECORD = {
    "directory": "/d", "port": 22, "user": "o", "base": "/b", "images_port": 5000,
    "models_port": 5001, "image": "", "model_digest": "",
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "{}", '"x"', "\udc80",
        *(json.dumps({name: value for name, value in RECORD.items() if name != missing})
          for missing in RECORD),
        *(json.dumps(RECORD | wrong)
          for wrong in ({"port": "22"}, {"port": 0}, {"images_port": 65536},
                        {"models_port": None}, {"directory": "d"}, {"directory": 7}, {"user": ""})),
    ],
)  # fmt: skip
def test_a_damaged_record_is_no_machine(tmp_path: Path, text: str) -> None:
    (tmp_path / "machine.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(NoMachineError, match=r"damaged.*run apuhost rehearse down"):
        state.load(tmp_path)


def test_the_state_directory_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APUHOST_REHEARSAL_STATE", "/somewhere/else")
    assert state.state_directory() == Path("/somewhere/else")


@pytest.mark.parametrize(
    ("variable", "where"),
    [
        ("/x", Path("/x/apuhost/rehearsal")),
        ("relative", Path("/home/me/.local/state/apuhost/rehearsal")),
        ("", Path("/home/me/.local/state/apuhost/rehearsal")),
    ],
)
def test_the_state_directory_follows_xdg(
    monkeypatch: pytest.MonkeyPatch, variable: str, where: Path
) -> None:
    monkeypatch.delenv("APUHOST_REHEARSAL_STATE", raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_STATE_HOME", variable)
    assert state.state_directory() == where


@pytest.mark.parametrize("command", [rehearse.deploy, rehearse.check, lambda: rehearse.login([])])
def test_a_machine_that_does_not_run_is_told_with_what_to_type(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, command: Callable[[], int]
) -> None:
    """Its refused connection would only say that something does not listen."""
    state.save(machine)
    monkeypatch.setenv("APUHOST_REHEARSAL_STATE", str(machine.directory))
    with pytest.raises(RehearsalError, match=r"does not run: `apuhost rehearse up` .* down`"):
        command()
