"""verify keeps what it saw of a host, and the next one tells what is new: on this very machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from apuhost.roles import CHECKOUT

INVENTORY = 'hosts = [("@local", {"_sudo": False, "host_roles": ["boot"]})]\n'
Done = subprocess.CompletedProcess[str]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="reads this machine as root")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("APUHOST_STATE", str(tmp_path / "state"))
    (tmp_path / "site.py").write_text(INVENTORY)
    return tmp_path / "state"


def verify(*arguments: str) -> Done:
    return subprocess.run(
        [sys.executable, "-m", "apuhost.cli", "verify", "-v", *arguments],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def kept(state: Path) -> Path:
    (file,) = state.rglob("*.json")
    return file


def test_what_changed_since_the_last_report_is_told_once(state: Path) -> None:
    inventory = str(state.with_name("site.py"))
    assert "first report" in verify(inventory).stdout
    file = kept(state)
    seen = json.loads(file.read_text())
    release = os.uname().release
    assert seen["versions"]["kernel"] == release
    file.write_text(json.dumps({**seen, "versions": {"kernel": "6.1.0-1"}}))
    assert f"kernel 6.1.0-1 is {release} since" in " ".join(verify(inventory).stdout.split())
    assert "kernel 6.1.0-1" not in verify(inventory).stdout


def test_a_report_that_cannot_be_kept_is_shown_and_said(state: Path) -> None:
    state.write_text("")
    done = verify(str(state.with_name("site.py")))
    assert "boot.unchanged" in done.stdout
    assert "the next report will not tell what is new" in done.stderr
    assert done.returncode != 0


def test_saved_facts_are_compared_with_nothing(state: Path) -> None:
    done = verify("--from", str(CHECKOUT / "examples" / "healthy"))
    assert "first report" in done.stdout
    assert not state.exists()
