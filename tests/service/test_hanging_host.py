"""A host that hangs or is lost in a deploy, over a real sshd: it fails, the others are done."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from tests.support.sshd import LACKING, Sshd, sshd

from apuhost import engines
from apuhost.rehearsal import ports
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


def deployed(
    folder: Path, hosts: Sequence[tuple[str, Mapping[str, object]]], steps: str
) -> "subprocess.CompletedProcess[str]":
    """What pyinfra says of such a deploy."""
    site, program = folder / "site.py", folder / "steps.py"
    site.write_text(f"hosts = {hosts!r}\n")
    program.write_text(steps)
    return subprocess.run(
        (sys.executable, "-m", "pyinfra", "-y", "--json", str(site), str(program)),
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_host_that_hangs_fails_alone_and_the_others_are_done(
    server: Sshd, tmp_path: Path
) -> None:
    names = ("hanging", "well", "also-well")
    data = {**server.data, "host_command_timeout_s": 10}
    done = deployed(tmp_path, [(name, data) for name in names], DEPLOY)
    assert engines.applied(done.stdout, done.returncode).failed == ("hanging",)
    assert "no end to it within 10 s (host_command_timeout_s)" in done.stderr, done.stderr
    written = server.path("/run/steps").read_text().split()
    assert {name: written.count(name) for name in names} == {
        "hanging": 1,
        "well": 3,
        "also-well": 3,
    }
    assert "Traceback" not in done.stderr, done.stderr


def test_a_host_that_is_not_connected_fails_alone(server: Sshd, tmp_path: Path) -> None:
    (closed,) = ports.free(1)
    hosts = [("gone", {**server.data, "ssh_port": closed}), ("well", server.data)]
    done = deployed(tmp_path, hosts, DEPLOY)
    assert engines.applied(done.stdout, done.returncode) == engines.Applied(3, ("gone",))
