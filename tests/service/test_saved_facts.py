"""`verify --from` of what may not be read: one line, and the hosts that may be read are judged."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from apuhost.roles import CHECKOUT

# Root passes every mode, unless it gives that up for itself and its children.
ORDINARY = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if not os.geteuid() else ()


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    """A folder with the facts of two hosts, of which the first is closed."""
    folder = shutil.copytree(CHECKOUT / "examples" / "healthy", tmp_path / "facts")
    shutil.copytree(folder / "minipc", folder / "box2")
    (folder / "box2").chmod(0o000)
    return folder


def verify(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [*ORDINARY, sys.executable, "-m", "apuhost.cli", "verify", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_closed_host_is_told_and_the_other_judged(facts: Path) -> None:
    done = verify("--from", str(facts))
    assert (done.returncode, done.stderr) == (2, "")
    told = " ".join(done.stdout.split())
    assert "box2/facts.json: cannot be read: Permission denied 1 host: box2" in told
    assert done.stdout.splitlines()[-1] == "1 of 2 hosts good, 1 not reached"


def test_what_is_closed_as_a_whole_is_one_line(facts: Path) -> None:
    facts.chmod(0o000)
    done = verify("--from", str(facts / "minipc"))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line == f"{facts / 'minipc'}: Permission denied"
