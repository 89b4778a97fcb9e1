"""The scripts that cut a host off and let it out again, under the real sh on a host's folder."""

from pathlib import Path

import pytest
from tests.support.host_root import Root

from apuhost.bundle import accepting
from apuhost.changes import cut
from apuhost.changes.cut import Passage

PASSAGE = Passage(("docker0",), (), (5000, 8443))
SYSTEMD = "/etc/systemd/system"
LED = ("/run/apuhost", "/usr/local/lib/apuhost", SYSTEMD)
TOOLS = ("iptables", "ip6tables", "systemctl")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A host where nothing of it was written, and no rule is found."""
    for folder in ("run/apuhost", "etc/systemd/system"):
        (tmp_path / folder).mkdir(parents=True)
    found = Root(tmp_path, LED)
    for tool in TOOLS[:2]:
        found.program(tool, "exit 1")
    found.program("systemctl")
    return found


def written(root: Root) -> set[str]:
    return {path for path in cut.files(PASSAGE) if root.path(path).is_file()}


def test_a_host_is_cut_off_now_and_for_the_next_boot(root: Root) -> None:
    done = root.run(cut.begin(PASSAGE))
    assert (done.returncode, done.stderr) == (0, "")
    assert written(root) == set(cut.files(PASSAGE))
    program = root.path(cut.CUT).read_text()
    assert all(rule in program.splitlines() for rule in cut.rules(PASSAGE))
    assert root.said == [
        "systemctl daemon-reload",
        "systemctl restart apuhost-lift.timer",
        "systemctl restart apuhost-cut.service",
        "systemctl enable --quiet apuhost-cut.service apuhost-lift.timer",
    ]


def test_a_host_that_cannot_be_cut_off_is_left_as_it_was(root: Root) -> None:
    root.program("systemctl", 'case "$*" in *"restart apuhost-cut"*) exit 5 ;; esac')
    assert root.run(cut.begin(PASSAGE)).returncode == 5
    assert not written(root)
    assert "systemctl stop apuhost-lift.timer apuhost-cut.service" in root.said


def test_the_end_takes_away_rules_and_files(root: Root) -> None:
    root.run(cut.begin(PASSAGE))
    for wants in ("multi-user.target.wants/apuhost-cut.service",
                  "timers.target.wants/apuhost-lift.timer"):  # fmt: skip
        link = root.path(f"{SYSTEMD}/{wants}")
        link.parent.mkdir()
        link.touch()
    root.path("/run/apuhost/attempts").touch()
    assert root.run(cut.END).returncode == 0
    assert not [path for led in LED for path in root.path(led).rglob("*") if path.is_file()]
    for tool in TOOLS[:2]:
        assert f"{tool} -w 10 -t mangle -D POSTROUTING -j APUHOST-CUT" in root.said
    assert root.said[-1] == "systemctl daemon-reload"


def test_a_cut_that_has_ended_by_itself_is_ended(root: Root) -> None:
    assert root.run(cut.END).returncode == 0
    assert root.said == []


def test_the_boot_after_the_next_one_is_not_cut_off(root: Root) -> None:
    """The program takes out the link by which systemd starts it, before it sets a rule."""
    root.run(cut.begin(PASSAGE))
    link = root.path(f"{SYSTEMD}/multi-user.target.wants/apuhost-cut.service")
    link.parent.mkdir()
    link.touch()
    root.program("iptables-restore", f"[ ! -e {link} ]")
    root.program("ip6tables-restore", f"[ ! -e {link} ]")
    there = Root(root.folder, ())  # its paths lead there already
    assert there.run(root.path(cut.CUT).read_text()).returncode == 0
    assert not link.exists()


APT = [
    pytest.param("", [], id="good"),
    pytest.param("echo 'E: no route'; exit 100", ["apt-get: E: no route"], id="refused"),
    pytest.param("exit 100", ["apt-get: "], id="refused without a word"),
    pytest.param('case "$*" in *" -s "*) echo "E: unmet"; exit 100 ;; esac',
                 ["apt-get: E: unmet"], id="not installable"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "said"), APT)
def test_apt_is_heard_when_it_cannot(root: Root, program: str, said: list[str]) -> None:
    root.program("apt-get", program)
    root.program("sleep")
    done = root.run(accepting.APT, "docker.io")
    assert (done.returncode, done.stdout.splitlines()) == (0, said)
    asked = [line for line in root.said if line.startswith("apt-get")]
    assert all("sourceparts=/dev/null" in line for line in asked)
    updates = [line for line in asked if "update" in line]
    assert len(updates) == (3 if said else 1)
