"""A deploy of many hosts: in batches, until too many have failed; what never began is named."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.hosts import host_facts, settings

from apuhost import engines
from apuhost.changes.host import plan as plan_host
from apuhost.cli import main
from apuhost.commands import deploy, plan, verify
from apuhost.commands.pace import Pace, PaceError
from apuhost.commands.plan import Planned
from apuhost.commands.verify import Asked, Seen
from apuhost.engines import Applied, EngineError

SITE = Path("site.py")
BOXES = [f"box{number:02}" for number in range(1, 11)]


@pytest.mark.parametrize(
    ("serial", "sizes"),
    [
        (None, [10]),
        ("1", [1] * 10),
        ("4", [4, 4, 2]),
        ("10", [10]),
        ("99", [10]),
        ("25%", [2, 2, 2, 2, 2]),
        ("1%", [1] * 10),
        ("100%", [10]),
    ],
)
def test_so_many_hosts_at_a_time_in_their_order(serial: str | None, sizes: list[int]) -> None:
    batches = Pace(serial).batches(BOXES)
    assert [len(batch) for batch in batches] == sizes
    assert [host for batch in batches for host in batch] == BOXES


@pytest.mark.parametrize(
    ("serial", "failures", "told"),
    [
        ("0", None, "1 or more"),
        ("0%", None, "1% to 100%"),
        ("101%", None, "1% to 100%"),
        ("-1", None, "1 or more"),
        ("two", None, "1 or more"),
        ("2.5", None, "1 or more"),
        ("٣", None, "1 or more"),
        ("2", 0, "--max-failures 0"),
        (None, 1, "add --serial N"),
    ],
)
def test_a_number_that_means_no_hosts_is_an_error(
    serial: str | None, failures: int | None, told: str
) -> None:
    with pytest.raises(PaceError, match=told):
        Pace(serial, failures)


class Site:
    """Hosts whose plan is given; the named ones fail in it, or are bad or unread afterwards."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names = BOXES
        self.rebooting: set[str] = set()
        self.failing: set[str] = set()
        self.bad: set[str] = set()
        self.unread: set[str] = set()
        self.serving: set[str] = set()
        self.ends: dict[str, BaseException] = {}
        self.applied: list[list[str]] = []
        monkeypatch.setattr(plan, "plans", lambda *_: self._plans())
        monkeypatch.setattr(engines, "apply", lambda _, hosts, __: self._apply(hosts))
        monkeypatch.setattr(verify, "judge", self._judge)

    def _plans(self) -> tuple[Planned, ...]:
        found = plan_host(settings(), host_facts())
        rebooting = replace(found, reboot=("a new kernel line",))
        return tuple(
            Planned(
                name, rebooting if name in self.rebooting else found, serves=name in self.serving
            )
            for name in self.names
        )

    def _apply(self, hosts: Sequence[str]) -> Applied:
        self.applied.append(list(hosts))
        for host in hosts:
            if host in self.ends:
                raise self.ends[host]
        return Applied(1, tuple(sorted(self.failing & set(hosts))))

    def _judge(self, asked: Asked, *_: object, every: bool) -> Seen:
        bad = tuple(host for host in asked.limits if host in self.bad)
        good = tuple(host for host in asked.limits if host not in self.bad | self.unread)
        status = 1 if bad else 2 * any(host in self.unread for host in asked.limits)
        return Seen(status, bad, good)

    def deploy(self, serial: str | None, failures: int | None = None) -> int:
        """Its exit status."""
        return deploy.run(SITE, (), Pace(serial, failures), yes=True)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    return Site(monkeypatch)


def test_without_serial_all_hosts_are_one_batch(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.deploy(None) == 0
    assert site.applied == [BOXES]
    assert "batch" not in capsys.readouterr().out


def test_a_failed_host_stops_no_batch_by_itself(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.failing, site.bad = {"box02"}, {"box05"}
    assert site.deploy("4") == 1
    assert site.applied == [BOXES[:4], BOXES[4:8], BOXES[8:]]
    said = capsys.readouterr()
    assert "batch 2 of 3: box[05:08]" in said.out
    assert said.out.endswith("8 of 10 hosts deployed and good\n")
    assert said.err.endswith("failed: box02 box05\n")


def test_a_host_that_is_not_known_to_be_good_is_not_counted_as_good(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.unread = {"box01", "box02", "box09"}
    site.failing = {"box03"}
    assert site.deploy("5") == 1
    said = capsys.readouterr()
    assert said.out.endswith("\n6 of 10 hosts deployed and good\n")
    assert said.err.endswith("failed: box03\nnot known: box01 box02 box09\n")


def test_hosts_that_are_not_known_are_neither_failed_nor_good(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.unread = {*BOXES}
    assert site.deploy("5", 1) == 2
    said = capsys.readouterr()
    assert "\n0 of 10 hosts deployed and good\n" in said.out
    assert said.err == "not known: box[01:10]\n"


def test_this_very_machine_is_not_known_before_its_reboot(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.names, site.rebooting = ["@local", "box01"], {"@local"}
    assert site.deploy("1") == 0
    said = capsys.readouterr()
    assert "\n1 of 2 hosts deployed and good\n" in said.out
    assert said.err == "not known: @local\n"


@pytest.mark.parametrize(
    ("failing", "bad"), [({"box01", "box06"}, set()), ({"box06"}, {"box01"}), (set(), {*BOXES})]
)
def test_after_so_many_failed_hosts_none_begins_and_those_are_named(
    site: Site, capsys: pytest.CaptureFixture[str], failing: set[str], bad: set[str]
) -> None:
    site.failing, site.bad = failing, bad
    assert site.deploy("3", 2) == 1
    begun = 1 if bad == {*BOXES} else 2
    assert len(site.applied) == begun
    said = capsys.readouterr().err
    assert "(--max-failures 2): no further batch begins" in said
    assert f"not begun: {'box[04:10]' if begun == 1 else 'box[07:10]'}\n" in said


def test_failures_in_the_last_batch_leave_nobody_out(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.failing = {"box10"}
    assert site.deploy("5", 1) == 1
    assert "not begun" not in capsys.readouterr().err


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(143), EngineError("pyinfra")])
def test_a_batch_that_is_cut_off_names_its_hosts_and_those_not_begun(
    site: Site, capsys: pytest.CaptureFixture[str], end: BaseException
) -> None:
    site.ends = {"box04": end}
    with pytest.raises(type(end)):
        site.deploy("3")
    said = capsys.readouterr().err
    assert "cut off, perhaps half done: box[04:06]\nnot begun: box[07:10]\n" in said


def test_a_mirror_comes_before_those_that_take_from_it(site: Site) -> None:
    site.serving = {"box07"}
    site.deploy("5")
    assert site.applied[0] == ["box07", *BOXES[:4]]


def test_hosts_with_one_plan_are_told_once(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    plan.show([*plan.plans(SITE, ()), Planned("nuc", unreachable="timed out")], every=False)
    said = capsys.readouterr().out
    assert said.count("box") == 1
    assert "box[01:10]  " in said
    assert said.endswith("nuc  not reached: timed out\n")


def test_many_names_stand_above_their_plan(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"c{number:02}" for number in range(0, 60, 2)]
    plan.show([Planned(name, refused=("no GRUB",)) for name in names], every=False)
    said = capsys.readouterr().out.splitlines()
    assert " ".join(said[:-2]).split() == names
    assert said[-2:] == ["30 hosts  refused: no GRUB", "30 hosts  nothing will be touched"]


@pytest.mark.parametrize("words", [["--serial", "0"], ["--max-failures", "1"]])
def test_a_wrong_pace_is_one_line_before_anything_is_read(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["apuhost", "deploy", "/nosuch.py", *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
