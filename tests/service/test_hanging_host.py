"""A host that hangs while a deploy works on it, over a real sshd: it fails, the others are done."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.sshd import LACKING, Sshd, sshd

from apuhost import engines
from apuhost.roles import CHECKOUT

pytestmark = pytest.mark.skipif(bool(LACKING), reason=", ".join(LACKING))

# $1 the host's name. A command of the second operation does not end on one of them.
DEPLOY = """
from pyinfra import host
from pyinfra.api import operation
from deploy.facts import output
from deploy.operations import root_script
from apuhost.steps import script

@operation()
def step(number: int):
    assert output("echo read")
    slow = number == 2 and host.name == "hanging"
    yield root_script(script("sleep 300" if slow else 'echo "$1" >>/run/steps', host.name))

for number in (1, 2, 3):
    step(name=f"step {number}", number=number)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    with sshd(tmp_path) as running:
        yield running


def test_a_host_that_hangs_fails_alone_and_the_others_are_done(
    server: Sshd, tmp_path: Path
) -> None:
    names = ("hanging", "well", "also-well")
    data = {**server.data, "host_command_timeout_s": 10}
    site, steps = tmp_path / "site.py", tmp_path / "steps.py"
    site.write_text(f"hosts = {[(name, data) for name in names]!r}\n")
    steps.write_text(DEPLOY)
    done = subprocess.run(
        (sys.executable, "-m", "pyinfra", "-y", "--json", str(site), str(steps)),
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert engines.applied(done.stdout, done.returncode).failed == ("hanging",)
    assert "no end to it within 10 s (host_command_timeout_s)" in done.stderr, done.stderr
    written = server.path("/run/steps").read_text().split()
    assert {name: written.count(name) for name in names} == {
        "hanging": 1,
        "well": 3,
        "also-well": 3,
    }
    assert "Traceback" not in done.stderr, done.stderr
