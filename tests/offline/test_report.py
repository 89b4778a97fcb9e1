"""What people read: plans and verdicts in lines, exit statuses, JSON."""

import shlex
from dataclasses import replace
from itertools import pairwise

import pytest
from tests.support import stack
from tests.support.hosts import (
    DEFAULT_GRUB,
    DROP_IN,
    GIB,
    GPU_780M,
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
from apuhost.changes import FileChange, HostPlan, RolePlan
from apuhost.changes.host import plan
from apuhost.gather import Unreachable
from apuhost.host_facts import HostFacts
from apuhost.settings import Settings
from apuhost.verdicts import Layer, Severity, Status, Verdict
from apuhost.verdicts.host import HostReport

GRUB = "/etc/default/grub"
INVENTORY = "inventories/minipc.py"
ASKED = settings(kernel_gtt_gib=48, host_roles=["kernel"])
WHOLE = settings(kernel_gtt_gib=48)
BY_HAND = host_facts(
    grub={GRUB: f'GRUB_CMDLINE_LINUX_DEFAULT="quiet {PARAMETERS}"\n'},
    grub_cfg=menu(f"quiet {PARAMETERS}"),
)
BARE = host_facts(
    grub={GRUB: DEFAULT_GRUB},
    grub_cfg=menu("quiet"),
    cmdline=f"{LINE} quiet\n",
    gpus=GPU_780M.replace(str(48 * GIB), str(31 * GIB)),
)
BEHIND = host_facts(
    grub={
        GRUB: DEFAULT_GRUB,
        DROP_IN: drop_in(),
        "/etc/default/grub.d/zzz.cfg": "GRUB_CMDLINE_LINUX_DEFAULT=quiet\n",
    }
)
EMPTY = host_facts(
    packages=stack.packages(*stack.PACKAGES),
    nodes="",
    vulkaninfo=stack.vulkaninfo(stack.LLVMPIPE),
    docker=stack.NO_DOCKER,
    daemon_json="",
    containers="absent\n",
    compose="",
    ollama_api=stack.framed({"error": "no container runs Ollama"}),
    model_store=stack.framed({"end": ""}),
    runners="end\n",
    ollama_log="",
    units=stack.units({}),
    firewall=stack.firewall("0.0.0.0:22"),
)
SIMULATED = settings(
    kernel_gtt_gib=48,
    host_roles=["kernel"],
    host_simulated={"memory_gib": 61, "gpu": "1002:1900"},
)
VIRTUAL = host_facts(machine="hostname=vm\nvirtualization=kvm\n", gpus="")


def verdict(
    status: Status, severity: Severity = Severity.REQUIRED, name: str = "kernel.gtt"
) -> Verdict:
    return Verdict(name, status, "48 GiB GTT", "GTT is 31 GiB", severity, reason="too busy")


def one(*verdicts: Verdict) -> HostReport:
    return HostReport("box1", "Debian 13", verdicts)


def lines(*reports: HostReport, every: bool = False) -> list[str]:
    return report.verify_lines(reports, INVENTORY, every=every)


def planned(facts: HostFacts) -> list[str]:
    return report.plan_lines("box1", plan(ASKED, facts))


def test_a_plan_with_nothing_to_do_says_so_in_one_line() -> None:
    assert planned(host_facts())[0] == "box1  nothing to change"


def test_a_plan_shows_each_file_as_a_diff() -> None:
    found = planned(BY_HAND)
    assert found[0] == "box1  would change 3 things; no reboot"
    shown = [line.strip() for line in found]
    assert f'- GRUB_CMDLINE_LINUX_DEFAULT="quiet {PARAMETERS}"' in shown
    assert '+ GRUB_CMDLINE_LINUX_DEFAULT="quiet"' in shown
    assert any(DROP_IN in line and "new" in line for line in shown)
    assert any("/boot/grub/grub.cfg" in line for line in shown)


def test_a_plan_that_reboots_says_so_first_and_why() -> None:
    found = planned(BARE)
    assert found[0] == "box1  would change 2 things and reboot once"
    assert any(line.startswith("  reboot ") for line in found)


def test_a_reboot_alone_is_a_plan_too() -> None:
    found = report.plan_lines("box1", HostPlan(reboot=("a newer kernel",)))
    assert found == ["box1  would change nothing and reboot once", "  reboot   a newer kernel"]


@pytest.mark.parametrize("facts", [BY_HAND, BARE, host_facts()], ids=["hand", "bare", "deployed"])
def test_a_note_is_in_every_plan(facts: HostFacts) -> None:
    assert any("NPU" in line for line in planned(facts))


def test_a_diff_holds_every_line_that_changes() -> None:
    change = FileChange("/etc/x", "-- a\nkept\n@@ b\n++ c\n", "kept\n", "why", operators=True)
    assert report.diff(change) == ["- -- a", "- @@ b", "- ++ c"]


def test_a_diff_shows_no_login_and_still_shows_that_one_changes() -> None:
    before, after = "A=b\nHTTP_PROXY=http://joe:old@h\n", "A=b\nHTTP_PROXY=http://joe:new@h\n"
    change = FileChange("/etc/x", before, after, "why", operators=True)
    hidden = "HTTP_PROXY=http://xxxxxxx@h"
    assert report.diff(change) == [f"- {hidden}", f"+ {hidden}"]


def test_a_long_new_file_of_ours_is_a_count_in_a_plan_and_whole_when_asked() -> None:
    text = "".join(f"line {number}\n# why\n" for number in range(60))
    ours = FileChange("/usr/local/lib/x", None, text, "new", operators=False, purpose="for x")
    asked = HostPlan((RolePlan("models", files=(ours,)),))
    found = report.plan_lines("box1", asked)
    assert found[1:] == [
        "  models   /usr/local/lib/x                       new: for x",
        "               + 60 lines: apuhost plan -v shows them",
    ]
    whole = report.plan_lines("box1", asked, every=True)
    assert [line.strip() for line in whole[2:]] == [f"+ {line}" for line in text.splitlines()]


def test_a_file_whose_lines_are_not_shown_says_what_it_is_for() -> None:
    guarded = settings(ollama_listen="192.0.2.10:11434", ollama_allow_from=["192.0.2.0/24"])
    found = [line for asked in (WHOLE, guarded) for line in in_short(asked)]
    assert len({line.split()[-1] for line in found}) > 1
    assert all("  new: " in line for line in found)


def in_short(asked: Settings) -> list[str]:
    """The lines that name a file of which the plan shows a count."""
    found = report.plan_lines("box1", plan(asked, EMPTY))
    return [name for name, shown in pairwise(found) if "apuhost plan -v shows them" in shown]


def test_a_good_host_is_a_count() -> None:
    found = lines(judge("box1", ASKED, host_facts()))
    assert found[0].startswith("box1  Debian 13  kernel 6.12.117")
    assert "Radeon 780M (1002:1900)" in found[0]
    assert found[-1] == "kernel 7/7   gpu 4/4   firmware 3/3      14 of 14 good"
    assert not [line for line in found if line.startswith(("FAIL", "ok"))]


def test_everything_is_shown_when_asked() -> None:
    found = lines(judge("box1", ASKED, host_facts()), every=True)
    assert len([line for line in found if line.startswith("ok ")]) == 14


def test_a_failure_says_layer_evidence_and_what_to_type() -> None:
    text = "\n".join(lines(judge("box1", ASKED, host_facts(cmdline=f"{LINE} quiet\n"))))
    assert "FAIL   kernel.gtt" in text
    assert "differs first at: booted" in text
    assert "/proc/cmdline has no ttm.pages_limit" in text
    assert f"apuhost deploy {INVENTORY} --limit box1" in text.replace("\n" + report.INDENT, " ")


def test_a_fix_is_one_shell_command_whatever_the_names_are() -> None:
    fault = Verdict("a.b", Status.FAIL, "a", "b", fix="apuhost deploy INVENTORY")
    told = report.fix(fault, "box; reboot", "my sites/$(x).py")
    assert shlex.split(told) == [
        *("apuhost", "deploy", "my sites/$(x).py", "--limit", "box; reboot")
    ]
    assert told == "apuhost deploy 'my sites/$(x).py' --limit 'box; reboot'"


def test_failures_come_first_then_what_is_unknown() -> None:
    found = lines(
        one(verdict(Status.SKIP), verdict(Status.UNKNOWN), verdict(Status.FAIL)), every=True
    )
    assert [line.split()[0] for line in found if "kernel.gtt" in line] == ["FAIL", "?", "skip"]


def test_a_recommended_one_that_fails_is_a_warning() -> None:
    assert lines(one(verdict(Status.FAIL, Severity.RECOMMENDED)))[2].startswith("warn ")


def test_warnings_are_counted_apart_from_failures() -> None:
    found = [verdict(Status.FAIL), *[verdict(Status.FAIL, Severity.RECOMMENDED)] * 2]
    assert lines(one(*found))[-1].endswith("0 of 3 good, 1 failed, 2 warned")
    assert lines(one(found[-1]))[-1].endswith("0 of 1 good, 1 warned")


@pytest.mark.parametrize("status", [Status.SKIP, Status.UNKNOWN])
def test_what_is_no_answer_says_why(status: Status) -> None:
    assert "48 GiB GTT: too busy" in lines(one(verdict(status)))[2]


def same_cause(*names: str, status: Status) -> list[Verdict]:
    """Verdicts that share a reason, with a question and an answer each."""
    return [
        Verdict(name, status, f"asked of {name}", f"found of {name}", reason="no way in")
        for name in names
    ]


@pytest.mark.parametrize(("status", "word"), [(Status.UNKNOWN, "?"), (Status.SKIP, "skip")])
def test_what_has_no_answer_for_one_reason_is_told_once(status: Status, word: str) -> None:
    host = one(*same_cause("a.b", "a.c", "a.d", status=status))
    assert lines(host)[2:4] == [
        f"{word:7}{'a.b':22}no way in",
        f"{report.INDENT}and a.c a.d",
    ]
    found = "\n".join(lines(host, every=True))
    assert found.count("no way in") == 3
    assert all(f"asked of {name}: no way in" in found for name in ("a.b", "a.c", "a.d"))


def test_a_reason_of_several_failures_is_said_once_below_their_evidence() -> None:
    shared = [
        replace(each, layer=Layer.LIVE, evidence="x", fix="apuhost doctor")
        for each in same_cause("a.b", "a.c", status=Status.FAIL)
    ]
    alone = Verdict("a.z", Status.FAIL, "1", "2", fix="reboot")
    assert lines(one(shared[0], alone, shared[1]))[2:-2] == [
        f"FAIL   {'a.b':22}found of a.b; asked: asked of a.b",
        f"{report.INDENT}differs first at: live  (x)",
        f"FAIL   {'a.c':22}found of a.c; asked: asked of a.c",
        f"{report.INDENT}differs first at: live  (x)",
        f"{report.INDENT}no way in",
        f"{report.INDENT}holds for a.b a.c",
        f"{report.INDENT}fix: apuhost doctor",
        f"FAIL   {'a.z':22}2; asked: 1",
        f"{report.INDENT}fix: reboot",
    ]


def test_a_fix_alone_makes_no_common_cause() -> None:
    faults = [Verdict(name, Status.FAIL, "1", "2", fix="reboot") for name in ("a.b", "a.c")]
    assert sum("fix: reboot" in line for line in lines(one(*faults))) == 2


def test_a_host_that_is_refused_is_told_why_once() -> None:
    refused = host_facts(
        grub={GRUB: DEFAULT_GRUB}, cmdline=f"{LINE} quiet\n", loader="info=systemd-boot 257\n"
    )
    host = judge("box1", ASKED, refused)
    assert sum("a deploy refuses" in each.reason for each in host.verdicts) > 1
    assert "\n".join(lines(host)).count("a deploy refuses this host: boots with systemd-boot") == 1


def test_what_is_skipped_is_told_and_not_counted() -> None:
    found = lines(judge("vm", SIMULATED, VIRTUAL))
    assert found[-1] == "kernel 6/6      6 of 6 good, 8 skipped"


def test_a_host_that_is_not_reached_is_one_line() -> None:
    away = judge("box2", ASKED, Unreachable("connection timed out"))
    assert lines(away) == ["box2  not reached: connection timed out"]


INDENTED = len(report.INDENT)
"""A word behind it stays whole, whatever its length."""

FAULTY = [
    pytest.param(ASKED, BARE, id="bare"),
    pytest.param(ASKED, BY_HAND, id="set up by hand"),
    pytest.param(ASKED, BEHIND, id="another drop-in behind ours"),
    pytest.param(ASKED, HostFacts("box1", "", {}), id="nothing read"),
    pytest.param(SIMULATED, VIRTUAL, id="a virtual machine"),
    pytest.param(settings(kernel_lockup_timeout_ms="1000,2000,3000,4000"), BARE, id="timeouts"),
    pytest.param(WHOLE, host_facts(), id="every role"),
    pytest.param(WHOLE, HostFacts("box1", "", {}), id="every role, nothing read"),
    pytest.param(WHOLE, EMPTY, id="every role, nothing there"),
]


@pytest.mark.parametrize(("asked", "facts"), FAULTY)
def test_verdicts_fit_into_100_columns(asked: Settings, facts: HostFacts) -> None:
    found = lines(judge("minipc", asked, facts), every=True)
    assert max(map(len, found)) <= 100


@pytest.mark.parametrize("width", [60, 80, 160])
@pytest.mark.parametrize(("asked", "facts"), FAULTY)
def test_verdicts_fit_into_a_terminal_but_for_what_is_there_to_be_copied(
    asked: Settings, facts: HostFacts, width: int
) -> None:
    found = report.verify_lines([judge("minipc", asked, facts)], "i.py", width=width, every=True)
    words = [line for line in found if not line.strip().startswith("fix: ")]
    assert max(len(line) for line in words if " " in line[INDENTED:]) <= width


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("facts", [BARE, BEHIND, EMPTY, host_facts()])
def test_plans_fit_but_for_the_files_lines(facts: HostFacts, width: int) -> None:
    found = report.plan_lines("box1", plan(WHOLE, facts), width)
    own = [line for line in found if not line.strip().startswith(("+ ", "- "))]
    assert max(len(line) for line in own if " " in line.strip()) <= width


def test_one_long_word_of_a_host_stays_whole() -> None:
    word = "x" * 300
    found = report.verdict_lines(
        Verdict("kernel.gtt", Status.FAIL, "a", "b", layer=Layer.BOOTED, evidence=word), "box1", "i"
    )
    assert any(word in line for line in found)


@pytest.mark.parametrize("unreachable", ["", "no route to host"])
def test_a_host_with_a_name_of_any_length_has_its_lines(unreachable: str) -> None:
    name = "x" * 300
    found = lines(HostReport(name, "Debian 13", (), unreachable))
    assert found[0].startswith(f"{name}  ")
    assert report.plan_lines(name, HostPlan(reboot=("a newer kernel",)))[0].startswith(name)
    long = FileChange(f"/{name}", None, "a\n", "new", operators=True)
    assert report.plan_lines("a", HostPlan((RolePlan("kernel", files=(long,)),)))[2].endswith("+ a")


HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\udc80\u202e"


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(
            one(Verdict("a.b", Status.FAIL, HOSTILE, HOSTILE, layer=Layer.LIVE, evidence=HOSTILE)),
            id="evidence",
        ),
        pytest.param(one(Verdict("a.b", Status.UNKNOWN, "a", "b", reason=HOSTILE)), id="reason"),
        pytest.param(HostReport("box1", HOSTILE, ()), id="header"),
        pytest.param(HostReport("box1", "", (), HOSTILE), id="unreachable"),
        pytest.param(HostReport(HOSTILE, "", ()), id="name"),
        pytest.param(one(Verdict("a.b", Status.FAIL, "a\nb", "c\nd")), id="line ends"),
    ],
)
def test_control_characters_of_a_host_are_shown_not_obeyed(found: HostReport) -> None:
    text = lines(found, every=True)
    assert all(line.isprintable() for line in text)


def test_control_characters_in_a_plan_are_shown_not_obeyed() -> None:
    facts = host_facts(
        grub={
            f"/etc/default/grub.d/{HOSTILE}.cfg": f"A='{HOSTILE}'\nGRUB_CMDLINE_LINUX=amd_iommu=x\n"
        }
    )
    found = planned(facts)
    assert all(line.isprintable() for line in found)
    assert "\\x1b[2J" in "".join(found)


REQUIRED, RECOMMENDED = Severity.REQUIRED, Severity.RECOMMENDED
AWAY = HostReport("box2", "", (), "timed out")


@pytest.mark.parametrize(
    ("reports", "status"),
    [
        pytest.param([one(verdict(Status.PASS))], 0, id="good"),
        pytest.param([one(verdict(Status.SKIP))], 0, id="skipped"),
        pytest.param([one(verdict(Status.FAIL, RECOMMENDED))], 0, id="only recommended"),
        pytest.param([one(verdict(Status.UNKNOWN, RECOMMENDED))], 0, id="recommended, unknown"),
        pytest.param([one(verdict(Status.UNKNOWN))], 2, id="unknown is never a pass"),
        pytest.param([one(verdict(Status.PASS)), AWAY], 2, id="one not reached"),
        pytest.param([one(verdict(Status.FAIL))], 1, id="failed"),
        pytest.param(
            [one(verdict(Status.UNKNOWN), verdict(Status.FAIL)), AWAY], 1, id="failed outweighs"
        ),
    ],
)
def test_the_exit_status(reports: list[HostReport], status: int) -> None:
    assert report.exit_status(reports) == status
    assert report.as_json(reports)["ok"] is (status == 0)


def test_json_names_the_failures() -> None:
    document = report.as_json([judge("box1", ASKED, BARE)])
    assert document["schema"] == 1
    assert "box1 kernel.gtt" in document["failures"]
    assert "box1 gpu.driver" not in document["failures"]
    assert document["hosts"][0]["verdicts"][0]["status"] == "fail"


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        pytest.param(
            host_facts(gpus=GPU_780M.replace("1002", "10de")),
            "no AMD GPU",
            id="no GPU of AMD's",
        ),
        pytest.param(
            host_facts(gpus=GPU_780M.replace("1900", "7550")),
            "AMD GPU (1002:7550)",
            id="not in the table",
        ),
        pytest.param(host_facts(boot=PARTS["boot"].replace("=240", "=7300")), "up 2 h", id="hours"),
        pytest.param(host_facts(), "up 4 min  boot 2d50da51", id="minutes"),
        pytest.param(host_facts(os_release=""), "unknown distribution", id="no os-release"),
    ],
)
def test_the_header_says_which_host_it_is(facts: HostFacts, told: str) -> None:
    assert told in judge("box1", ASKED, facts).header


def test_a_header_leaves_out_what_could_not_be_read() -> None:
    assert judge("box1", ASKED, HostFacts("box1", "", {})).header == ""


@pytest.mark.parametrize("gpus", ["", "gpu pci=0000:c6:00.0 vend"], ids=["emptied", "cut"])
def test_a_header_does_not_call_a_gpu_missing_that_was_not_read(gpus: str) -> None:
    header = judge("box1", ASKED, host_facts(gpus=gpus)).header
    assert "GPU" not in header
    assert "kernel 6.12.117" in header
