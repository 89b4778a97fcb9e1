"""Facts that were saved and are damaged now: which file, what to do, and when most of them are."""

from dataclasses import replace

import pytest
from tests.support.hosts import host_facts, settings
from tests.support.verdicts import also, judge, unread

from apuhost import report
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.round_trip import PROBES
from apuhost.verdicts import Status
from apuhost.verdicts.damage import damage

ASKED = settings()
NEEDED = ("machine", "meminfo", "kernel", "gpus")
"""What all verdicts depend on."""


def random(facts: HostFacts, *names: str) -> HostFacts:
    """The same host, but in these files there is something else."""
    return also(facts, **dict.fromkeys(names, "\x00\udc80 noise\n"))


SAVED = replace(host_facts(), saved=True)


@pytest.mark.parametrize("probe", PROBES)
def test_every_probe_is_a_part_of_the_facts(probe: str) -> None:
    assert getattr(SAVED, probe) is not None


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        pytest.param(random(SAVED, "meminfo"), "meminfo.txt: no MemTotal line", id="another text"),
        pytest.param(unread(SAVED, "meminfo"), "meminfo.txt is not there", id="missing"),
        pytest.param(
            replace(unread(SAVED, "meminfo"), lost={"meminfo": "meminfo.txt is a folder"}),
            "meminfo.txt is a folder",
            id="lost",
        ),
        pytest.param(random(host_facts(), "meminfo"), "meminfo: no MemTotal line", id="not saved"),
        pytest.param(unread(host_facts(), "meminfo"), "meminfo was not read", id="cut off"),
    ],
)
def test_what_cannot_be_read_is_called_by_its_file(facts: HostFacts, said: str) -> None:
    with pytest.raises(Unreadable) as raised:
        _ = facts.meminfo
    assert str(raised.value) == said


def test_without_what_all_depend_on_the_one_cause_says_what_to_do() -> None:
    found = judge("box1", ASKED, random(SAVED, "meminfo"))
    assert {each.status for each in found.verdicts} == {Status.UNKNOWN}
    (reason,) = {each.reason for each in found.verdicts}
    assert reason.startswith("meminfo.txt: no MemTotal line; without it nothing is judged: save")
    lines = report.verify_lines([found], "i.py", every=False)
    assert len(lines) < 20
    live = judge("box1", ASKED, random(host_facts(), "meminfo")).verdicts[0]
    assert live.reason.startswith("meminfo: no MemTotal line; without it nothing is judged: look")


def test_a_folder_of_which_most_is_unreadable_looks_damaged() -> None:
    names = [name for name in PROBES if name not in NEEDED]
    found = judge("box1", ASKED, random(SAVED, *names))
    count, _, words = found.damage.partition(" ")
    assert len(PROBES) / 2 < int(count) <= len(names)
    assert words.startswith(f"of {len(PROBES)} files cannot be read: the folder looks damaged")
    lines = report.verify_lines([found], "i.py", every=False)
    assert lines[1] == found.damage
    assert len(lines[1]) <= 100


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(SAVED, id="whole"),
        pytest.param(random(SAVED, "meminfo", "docker", "boots"), id="some files"),
        pytest.param(HostFacts("box1", "", {}), id="a host that answered nothing"),
    ],
)
def test_else_nothing_is_said_of_damage(facts: HostFacts) -> None:
    assert damage(facts) == ""
