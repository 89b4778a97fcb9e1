"""The way of a host through an acceptance: what it is told, and that the cut always ends."""

import time
from pathlib import Path

import pytest
from tests.offline.test_acceptance import BOOTED, NEXT, text
from tests.support.hosts import host_facts, settings
from tests.support.verdicts import also

from apuhost import gather, inventory, judging
from apuhost.bundle import accepting, remote
from apuhost.bundle.accepting import AcceptError
from apuhost.changes import cut, needed
from apuhost.commands import accept
from apuhost.commands.terminal import NobodyToAsk
from apuhost.gather import Unreachable
from apuhost.host_facts import HostFacts
from apuhost.inventory import Host
from apuhost.judging import Judged
from apuhost.probes.mirror import SOURCE
from apuhost.verdicts.host import HostReport

HOST = Host("minipc", (), {})
ASKED = settings(mirror_address="192.0.2.2")
BEFORE = also(host_facts(), outbound=text())
READING = also(
    BEFORE, boot=BEFORE.readings["boot"].text.replace(BOOTED, NEXT).replace("=240", "=9")
)
AFTER = also(BEFORE, boot=BEFORE.readings["boot"].text.replace(BOOTED, NEXT))
AWAY = Unreachable("connection refused: is sshd running, and is the port right?")


class Remote:
    """A host as `gather` reaches it: what it was told to run, and what it answers, in order."""

    def __init__(self, *answers: HostFacts | Unreachable) -> None:
        self.ran: list[str] = []
        self.answers = list(answers)
        self.says: dict[str, str] = {}
        self.words: dict[str, tuple[str, ...]] = {}

    def gather(self, hosts: list[Host], _: tuple[str, ...]) -> dict[str, HostFacts | Unreachable]:
        """The next answer; the last one again and again."""
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return {host.name: answer for host in hosts}

    def run(self, _: Host, script: str, words: tuple[str, ...] = ()) -> bytes:
        """Note what the script does, in one word."""
        known = {"systemctl reboot": "reboot", "apt-get": "apt", "restart apuhost-cut": "cut"}
        word = next((word for part, word in known.items() if part in script), "")
        self.ran.append("end" if script == cut.END else word)
        self.words[self.ran[-1]] = words
        if self.says.get(self.ran[-1]) == "away":
            raise AWAY
        return self.says.get(self.ran[-1], "").encode()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Remote:
    """A host that comes back after its reboot, whose boot is not watched long enough at first."""
    found = Remote(BEFORE, AWAY, BEFORE, READING, READING, AFTER)
    monkeypatch.setattr(gather, "gather", found.gather)
    monkeypatch.setattr(remote, "run", found.run)
    monkeypatch.setattr(inventory, "load", lambda *_: (HOST,))
    monkeypatch.setattr(inventory, "settings", lambda *_: {HOST.name: ASKED})
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(
        judging, "asked", lambda *_, **__: Judged((HostReport(HOST.name, "Debian 13", ()),), {})
    )
    return found


def run(*allowed: str) -> int:
    return accept.run(accept.Asked(Path("site.py"), (), allowed, yes=True), every=True)


def test_a_host_is_cut_off_rebooted_judged_and_let_out(
    site: Remote, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    assert site.ran == ["cut", "reboot", "apt", "end"]
    assert site.answers == [AFTER]
    said = capsys.readouterr().out
    assert "accept 4/4" in said
    assert said.index("no more cut off") < said.index("ok     accept.cut")


def test_what_is_wrong_ends_as_a_failed_check(
    site: Remote, capsys: pytest.CaptureFixture[str]
) -> None:
    site.says = {"apt": "E: Unable to locate package\n"}
    assert run() == 1
    assert "E: Unable to locate package" in capsys.readouterr().out


LOST = [
    pytest.param({"reboot": "away"}, ["cut", "reboot", "end"], id="it is not rebooted"),
    pytest.param({"apt": "away"}, ["cut", "reboot", "apt", "end"], id="it is lost later"),
]


@pytest.mark.parametrize(("says", "ran"), LOST)
def test_the_cut_ends_whatever_happens(site: Remote, says: dict[str, str], ran: list[str]) -> None:
    site.says = says
    with pytest.raises(Unreachable):
        run()
    assert site.ran == ran


def test_a_host_that_does_not_come_back_is_told(
    site: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers = [BEFORE, AWAY]
    ticks = iter(range(0, 10**6, 100))
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    with pytest.raises(AcceptError, match="did not come back within 600 s"):
        run()
    assert site.ran == ["cut", "reboot", "end"]


def test_a_host_that_cannot_be_reached_to_end_it_ends_it_itself(
    site: Remote, capsys: pytest.CaptureFixture[str]
) -> None:
    site.says = {"end": "away"}
    assert run() == 0
    assert f"it ends by itself within {cut.MINUTES} min" in capsys.readouterr().out


def test_one_host_at_a_time(site: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "load", lambda *_: (HOST, HOST))
    with pytest.raises(AcceptError, match="--limit HOST"):
        run()
    assert not site.ran


def test_this_very_machine_is_not_cut_off(site: Remote) -> None:
    with pytest.raises(AcceptError, match="another machine"):
        accepting.candidate(Host("@local", (), {}), ASKED, ())
    assert not site.ran


def test_a_host_without_a_mirror_is_left_alone(
    site: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "settings", lambda *_: {HOST.name: settings()})
    with pytest.raises(AcceptError, match="minipc: it has no mirror"):
        run()
    assert not site.ran


def test_nobody_who_could_say_yes_is_no_yes(site: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(NobodyToAsk, match="-y"):
        accept.run(accept.Asked(Path("site.py"), (), (), yes=False), every=False)
    assert not site.ran


def test_scripts_get_what_they_work_on(site: Remote) -> None:
    run()
    assert site.words["reboot"] == (BOOTED, *BEFORE.grub_cfg.kernel_files)
    assert site.words["apt"] == needed.on_bare_host(ASKED, "debian")


def test_apt_is_asked_of_the_mirror_alone() -> None:
    script = accepting.APT
    assert script.count(f"sourcelist={SOURCE}") == script.count("apt-get ")
