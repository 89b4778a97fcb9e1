"""What a deploy reads again of a host, and when: nothing that is still true is asked twice."""

import base64
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from deploy import facts, limits
from deploy.limits import Ended
from pyinfra.connectors.util import CommandOutput, OutputLine
from tests.support.hosts import PARTS

from apuhost.gather import REASONS
from apuhost.round_trip import DECIDING, PROBES, Reading
from apuhost.steps import StepFailed, docker, packages

ASKS_DOCKER = sorted(name for name in DECIDING if "docker" in PROBES[name].COMMAND)


@pytest.mark.parametrize("changing", [docker.CHANGING, packages.CHANGING], ids=["docker", "apt"])
@pytest.mark.parametrize("name", ["docker", "containers", "model_store", "ollama_api"])
def test_what_a_silent_engine_hid_is_read_again_once_it_may_run(
    changing: tuple[str, ...], name: str
) -> None:
    assert name in ASKS_DOCKER
    assert name in changing


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """The probes of every round trip; the host is one that answers, the clock stands still."""
    trips: list[list[str]] = []
    monkeypatch.setattr(facts, "host", SimpleNamespace(name="box1"))
    monkeypatch.setattr(facts, "state", SimpleNamespace(is_executing=False))
    monkeypatch.setattr(facts, "time", SimpleNamespace(monotonic=lambda: 100.0))

    def read(readings: dict[str, Reading]) -> object:
        due = [name for name in DECIDING if name not in readings]
        trips.append(due)
        readings.update({name: Reading(PARTS.get(name, ""), 0) for name in due})
        return object()

    monkeypatch.setattr(facts, "_read", read)
    yield trips
    for known in (facts._readings, facts._known, facts._planned_at):
        known.clear()


def execute(monkeypatch: pytest.MonkeyPatch, seconds_later: float) -> None:
    monkeypatch.setattr(facts, "state", SimpleNamespace(is_executing=True))
    later = SimpleNamespace(monotonic=lambda: 100.0 + seconds_later)
    monkeypatch.setattr(facts, "time", later)


@pytest.mark.parametrize(("seconds", "trips"), [(1, 1), (facts.FRESH_S + 1, 2)])
def test_a_plan_that_is_fresh_serves_its_execution(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, seconds: float, trips: int
) -> None:
    facts.known()
    facts.known()
    execute(monkeypatch, seconds)
    facts.known()
    facts.known()
    assert asked == [list(DECIDING)] * trips


def test_only_what_an_operation_changed_is_read_again(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    facts.known()
    facts.forget(["docker"])  # a plan changes nothing
    facts.known()
    execute(monkeypatch, 1)
    facts.known()
    facts.forget(["docker", "units"])
    facts.known()
    assert asked == [list(DECIDING), ["docker", "units"]]


@pytest.mark.parametrize("printed", ["a\nb", ""])
def test_what_a_login_prints_is_no_part_of_a_scripts_output(printed: str) -> None:
    coded = base64.b64encode(printed.encode()).decode()
    assert facts.decoded(["Welcome to minipc", "no end of a line", coded]) == printed
    assert "echo; { true\n} | base64 -w0" in str(facts.encoded("true"))


@pytest.mark.parametrize(
    ("ended", "sentence"),
    [
        (Ended(cut_off="the connection was lost: look"), "the connection was lost: look"),
        (Ended(said=CommandOutput([])), "no word about why"),
        (
            Ended(said=CommandOutput([OutputLine("stderr", "sudo: a password is required")])),
            dict(REASONS)["a password is required"],
        ),
        (Ended(said=CommandOutput([OutputLine("stderr", "sh: not found")])), "sh: not found"),
    ],
    ids=["lost", "silent", "sudo", "told"],
)
def test_a_host_of_which_nothing_is_read_fails_in_one_line(
    monkeypatch: pytest.MonkeyPatch, ended: Ended, sentence: str
) -> None:
    monkeypatch.setattr(limits, "within", lambda *_: ended)
    with pytest.raises(StepFailed) as failed:
        facts.output("a long script")
    assert str(failed.value) == f"nothing was read: {sentence}"
