"""A host that talks without an end is cut off at the limit, and the others are not held up."""

import os
import time
from functools import partial
from pathlib import Path

import pytest

from apuhost import connection, gather
from apuhost.gather import Unreachable
from apuhost.host_facts import HostFacts
from apuhost.inventory import Host

# The last two words are the host and what it is to run. A child of it does the talking, as the ssh
# of a jump host would.
FAKE_SSH = """#!/bin/sh
echo $$ >> "$SSH_PIDS"
while [ $# -gt 2 ]; do shift; [ "$2" = -- ] && break; done
case $1 in
  out) yes facts & wait ;;
  errors) yes 'debug1: again' >&2 & wait ;;
  both) yes & yes >&2 & wait ;;
  late) sleep 600 & wait ;;
  child) sleep 600 & exec sh -c "$3" ;;
  *) exec sh -c "$3" ;;
esac
"""
QUICKLY_S = 60
"""Far below the time that a host has; a slow machine needs some."""


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the process groups of all that the fake ssh has started."""
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(FAKE_SSH)
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("SSH_PIDS", str(tmp_path / "pids"))
    return tmp_path / "pids"


def asked(*names: str) -> dict[str, HostFacts | Unreachable]:
    return gather.gather([Host(name, (), {}) for name in names], ("cmdline",))


def alive(group: int) -> bool:
    """Whether any process of the group still runs (a zombie does not)."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = file.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            return True
    return False


@pytest.mark.parametrize(
    ("host", "told"),
    [
        pytest.param("out", "more than 64 MiB of facts, which begin with 'facts'", id="facts"),
        pytest.param("errors", "more than 1 MiB of errors, which begin with 'debug1", id="errors"),
        pytest.param("both", "sends more than", id="both"),
    ],
)
def test_a_flood_is_cut_off_at_its_limit_and_the_others_go_on(
    groups: Path, host: str, told: str
) -> None:
    began = time.monotonic()
    found = asked(host, "good")
    assert time.monotonic() - began < QUICKLY_S
    assert told in str(found[host])
    assert isinstance(found["good"], HostFacts)
    assert not any(alive(group) for group in map(int, groups.read_text().split()))


def test_a_host_that_says_nothing_has_its_time(
    groups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "HOST_TIMEOUT_S", 1)
    assert str(asked("late")["late"]) == "no answer within 1 s"
    assert not alive(int(groups.read_text()))


def test_a_host_that_ends_its_script_says_after_how_long(
    groups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "as_root", partial(connection.as_root, seconds=1))
    monkeypatch.setattr(gather, "script", lambda *_: "exec sleep 60")
    assert "took longer than 1 s" in str(asked("slow")["slow"])
    assert not alive(int(groups.read_text()))


def test_what_ssh_leaves_behind_is_not_waited_for(groups: Path) -> None:
    began = time.monotonic()
    found = asked("child")["child"]
    assert time.monotonic() - began < QUICKLY_S
    assert isinstance(found, HostFacts)
    os.killpg(int(groups.read_text()), 9)
