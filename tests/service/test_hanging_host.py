"""A host that hangs or is lost in a deploy, over a real sshd: it fails, the others are done."""

import json
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


# The sshd that serves a host is ended: in a command, while it waits for another host, in a read.
LOSING = """
from pyinfra import host
from deploy.operations import execute
from apuhost.steps import Step, script

END = '''up() { cut -d" " -f4 /proc/$1/stat; }
each=$$
while [ "$(cut -c1-4 /proc/$each/comm)" != sshd ]; do each=$(up $each); done
(sleep %d; kill -9 $each) >/dev/null 2>&1 &
sleep %d'''
AT_ONCE, MEANWHILE = END % (0, 60), END % (1, 0)

def first(target):
    each = {"command": AT_ONCE, "waiting": MEANWHILE, "well": "sleep 4; echo 1 >>/run/steps"}
    yield script(each.get(host.data.ends, "true"))

def second(target):
    assert target.output(AT_ONCE if host.data.ends == "read" else "echo read") == "read\\n"
    yield script("echo 2 >>/run/steps")

execute(name="first", step=Step("first", first))
execute(name="second", step=Step("second", second))
"""


SLOW = """
from pyinfra import host
from deploy import facts
from deploy.operations import execute
from apuhost.steps import Step, script

facts.HOST_TIMEOUT_S = 5

def slow(target):
    assert target.output("sleep 300" if host.name == "slow" else "echo read") == "read\\n"
    yield script("echo done >>/run/steps")

execute(name="slow", step=Step("slow", slow))
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    with sshd(tmp_path) as running:
        yield running


def deployed(
    folder: Path, hosts: Sequence[tuple[str, Mapping[str, object]]], steps: str, how: str = "-y"
) -> "subprocess.CompletedProcess[str]":
    """What pyinfra says of such a deploy."""
    site, program = folder / "site.py", folder / "steps.py"
    site.write_text(f"hosts = {hosts!r}\n")
    program.write_text(steps)
    return subprocess.run(
        (sys.executable, "-m", "pyinfra", how, "--json", str(site), str(program)),
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


@pytest.mark.parametrize("ends", ["command", "waiting", "read"])
def test_a_host_that_is_lost_fails_in_one_line_and_the_others_are_done(
    server: Sshd, tmp_path: Path, ends: str
) -> None:
    hosts = [(name, {**server.data, "ends": name}) for name in (ends, "well")]
    done = deployed(tmp_path, hosts, LOSING)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stderr.count("the connection was lost") == 1, done.stderr
    assert engines.applied(done.stdout, done.returncode).failed == (ends,)
    assert server.path("/run/steps").read_text().split() == ["1", "2"]


def test_a_read_that_fails_on_the_only_host_is_one_line(server: Sshd, tmp_path: Path) -> None:
    done = deployed(tmp_path, [("only", {**server.data, "ends": "read"})], LOSING)
    assert "Traceback" not in done.stderr, done.stderr
    assert "[only] nothing was read: the connection was lost" in done.stderr
    assert "kill -9" not in done.stderr, done.stderr
    assert engines.NOBODY_LEFT in done.stderr


def test_a_host_that_is_too_slow_to_read_fails_in_one_line(server: Sshd, tmp_path: Path) -> None:
    done = deployed(tmp_path, [(name, server.data) for name in ("slow", "well")], SLOW)
    told = "nothing was read: no end to it within 5 s (a script that only reads)"
    assert told in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert engines.applied(done.stdout, done.returncode) == engines.Applied(1, ("slow",))
    assert server.path("/run/steps").read_text() == "done\n"


def test_a_host_that_is_lost_while_it_is_planned_ends_no_plan(server: Sshd, tmp_path: Path) -> None:
    hosts = [(name, {**server.data, "ends": name}) for name in ("read", "well")]
    done = deployed(tmp_path, hosts, LOSING, how="--dry")
    assert done.returncode == 0, done.stderr
    (second,) = [each for each in json.loads(done.stdout)["plan"] if each["name"] == "second"]
    assert "well" in second["hosts_with_change"]
