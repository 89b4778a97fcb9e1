"""Whatever a host answers, it is judged, refused or unknown: one host never ends the run."""

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from tests.support.hosts import (
    DEFAULT_GRUB,
    DROP_IN,
    LINE,
    PARAMETERS,
    PARTS,
    drop_in,
    host_facts,
    menu,
    settings,
)
from tests.support.verdicts import judge

from apuhost import report
from apuhost.changes.host import plan
from apuhost.derived import derive
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.round_trip import PROBES, Reading
from apuhost.verdicts.refusals import refusals

ASKED = settings(kernel_gtt_gib=48, kernel_extra_args=["quiet", "a=b"])
WORDS = st.sampled_from(
    [
        *PARAMETERS.split(),
        *" \n\"'\\$`\0\x1b",
        "²",
        "9" * 30,
        "ttm.pages_limit=²",
        "ttm.pages_limit=0x",
        "amdgpu.lockup_timeout=",
        "amdgpu.lockup_timeout",
        "amdgpu.dc=",
        "amd_iommu",
        "$A",
        "--",
        "$(x)",
        ". /x\n",
        "\nif a; then\n",
        "\nGRUB_CMDLINE_LINUX=",
        '\nGRUB_CMDLINE_LINUX_DEFAULT="',
        "\noptions ttm ",
        "blacklist amdgpu\n",
    ]
)
LINES = st.lists(WORDS | st.text(max_size=5), max_size=12).map(" ".join)


def survives(facts: HostFacts) -> None:
    """Verdicts are always there; a plan is there, or says what could not be read."""
    found = judge("box1", ASKED, facts)
    assert found.verdicts
    assert all(line.isprintable() for line in report.verify_lines([found], "i.py", every=True))
    try:
        refusals(ASKED, derive(ASKED, facts), facts)
        lines = report.plan_lines("box1", plan(ASKED, facts))
    except Unreadable:
        return
    assert all(line.isprintable() for line in lines)


@given(LINES, LINES, LINES)
def test_any_line_in_files_menu_and_boot(files: str, booted: str, live: str) -> None:
    survives(
        host_facts(
            grub={"/etc/default/grub": DEFAULT_GRUB, "/etc/default/grub.d/a.cfg": files},
            grub_cfg=menu(booted.replace("\n", " ")),
            cmdline=f"{LINE} {booted}",
            modprobe={"/etc/modprobe.d/a.conf": files},
            modules=PARTS["modules"].replace("12582912", live).replace("10000", live),
        )
    )


@pytest.mark.parametrize("name", PROBES)
@examples(max_examples=25)
@given(text=st.text(st.characters(), max_size=80) | LINES)
def test_any_answer_of_one_probe(name: str, text: str) -> None:
    survives(HostFacts("box1", "", {**host_facts().readings, name: Reading(text, 0)}))


@given(LINES)
def test_a_drop_in_that_somebody_overwrote(text: str) -> None:
    survives(host_facts(grub={"/etc/default/grub": text, DROP_IN: f"{drop_in()}{text}"}))
