"""Many hosts: a matrix, each cause once with its hosts and its fix, who was not reached."""

import shlex

import pytest
from tests.support.hosts import GPU_780M, LINE, PARAMETERS, host_facts, settings
from tests.support.verdicts import judge

from apuhost import report
from apuhost.gather import Unreachable
from apuhost.host_facts import HostFacts
from apuhost.settings import Settings
from apuhost.verdicts import Layer, Severity, Status, Verdict
from apuhost.verdicts.host import HostReport

SITE = "inventories/site.py"
ASKED = settings(kernel_gtt_gib=48, host_roles=["kernel"])
WAIVED = settings(
    host_roles=["kernel"], host_waivers=[{"id": "kernel.iommu", "reason": "the NPU is in use"}]
)
DEPLOY = "apuhost deploy INVENTORY"


def lines(*reports: HostReport, limits: tuple[str, ...] = (), every: bool = False) -> list[str]:
    return report.verify_lines(reports, SITE, limits, every=every)


def text(*reports: HostReport, limits: tuple[str, ...] = ()) -> str:
    return "\n".join(lines(*reports, limits=limits))


def host(name: str, *verdicts: Verdict) -> HostReport:
    return HostReport(name, "Debian 13", verdicts)


def good(name: str) -> HostReport:
    return host(name, Verdict("kernel.gtt", Status.PASS, "48 GiB GTT", "48 GiB"))


def bad(name: str, found: str = "31 GiB", fix: str = DEPLOY, evidence: str = "") -> HostReport:
    return host(
        name,
        Verdict(
            *("kernel.gtt", Status.FAIL, "48 GiB GTT", found),
            layer=Layer.BOOTED,
            evidence=evidence,
            fix=fix,
        ),
    )


def away(name: str, why: str = "connection timed out") -> HostReport:
    return HostReport(name, "", (), why)


def fleet() -> list[HostReport]:
    """A hundred hosts: some faults, some waivers, some away."""
    found = []
    for number in range(100):
        asked: Settings = WAIVED if number % 10 == 0 else ASKED
        facts: HostFacts | Unreachable = host_facts()
        if number % 10 == 0:
            facts = host_facts(iommu="groups=20\ntranslated=3\n")
        if number in (7, 11):
            facts = host_facts(gpus=GPU_780M.replace("driver=amdgpu", "driver="))
        if number in range(23, 53, 3):
            facts = host_facts(
                cmdline=f"{LINE} quiet {PARAMETERS.replace('12582912', '8126464')}\n"
            )
        if number in (2, 15, 19):
            facts = Unreachable("connection timed out: is it switched on?")
        if number == 31:
            facts = HostFacts("c31", "", {})
        found.append(judge(f"c{number:02}.site-a.example", asked, facts))
    return found


def test_a_hundred_hosts_are_read_on_one_screen_or_two() -> None:
    found = lines(*fleet())
    assert max(map(len, found)) <= 100
    assert len(found) < 60
    assert found[0].split() == ["kernel", "gpu", "firmware"]
    assert found[-1] == "84 of 100 hosts good, 12 failed, 1 unknown, 3 not reached"
    assert all(line.isprintable() for line in found)


def test_hosts_that_share_a_state_share_a_row_and_the_worst_comes_first() -> None:
    found = lines(good("a"), bad("b"), good("c"), bad("d"))
    assert found[:3] == ["     kernel", "b d  1 bad", "a c  ok"]


def test_a_row_of_names_that_count_up_is_a_range_with_their_number() -> None:
    found = lines(*(good(f"c{number:02}") for number in range(18)))
    assert found[1] == "c[00:17] (18)  ok"


def test_a_long_row_names_some_hosts_and_counts_all() -> None:
    found = lines(*(good(f"c{number:02}") for number in range(0, 36, 2)))
    assert found[1] == "c00 c02 c04 c06 c08 c10 … (18)  ok"


def test_a_cause_names_its_hosts_as_ranges_that_limit_takes() -> None:
    found = lines(*(bad(f"c{number:02}") for number in range(17)), good("b"))
    assert f"{report.INDENT}17 hosts: c[00:16]" in found
    assert pasted(found) == [SITE, "--limit", "c[00:16]"]


@pytest.mark.parametrize("name", ["x" * 300, "\x1b[2J", "ø" * 40])
def test_a_name_of_any_length_leaves_the_matrix_whole(name: str) -> None:
    found = lines(good(name), bad("b"))
    assert found[1] == f"{'b':{len(found[2]) - 4}}  1 bad"[: len(found[1])]
    assert max(map(len, found[:3])) <= 100


@pytest.mark.parametrize("width", [60, 80, 100])
def test_concerns_that_have_no_room_beside_the_others_come_below(width: int) -> None:
    names = [f"concern{number}" for number in range(10)]
    verdicts = [Verdict(f"{name}.x", Status.FAIL, "a", "b") for name in names]
    found = report.verify_lines(
        [host("a", *verdicts), host("b" * 30)], SITE, (), width, every=False
    )
    table = found[: found.index("")]
    assert max(map(len, table)) <= width
    assert len(table) % 3 == 0
    assert [name for head in table[::3] for name in head.split()] == names
    assert " ".join(table[1::3]).count("1 bad") == len(names)


def test_what_is_unknown_for_one_reason_is_counted_by_concern_where_it_is_much() -> None:
    names = [*(f"kernel.a{number}" for number in range(5)), *(f"gpu.b{n}" for n in range(5))]
    unread = [
        Verdict(name, Status.UNKNOWN, "48 GiB", "", reason="machine was not read") for name in names
    ]
    told = [*lines(host("a", *unread)), *lines(host("a", *unread), good("b"))]
    assert told.count(f"{report.INDENT}and 9 more: 4 of kernel, 5 of gpu") == 2


RECOMMENDED = Severity.RECOMMENDED


@pytest.mark.parametrize(
    ("states", "cell"),
    [
        pytest.param([Status.PASS], "ok", id="good"),
        pytest.param([Status.SKIP], "-", id="skipped"),
        pytest.param([Status.SKIP, Status.PASS], "ok", id="skipped and good"),
        pytest.param([Status.WAIVED, Status.PASS], "1 waived", id="waived is no ok"),
        pytest.param([Status.UNKNOWN, Status.UNKNOWN, Status.WAIVED], "2 ?", id="unknown"),
        pytest.param([Status.UNKNOWN, Status.FAIL, Status.FAIL], "2 bad", id="failed"),
    ],
)
def test_a_cell_tells_the_worst_in_words(states: list[Status], cell: str) -> None:
    verdicts = [Verdict(f"gpu.{n}", each, "a", "b", reason="c") for n, each in enumerate(states)]
    assert lines(host("a", *verdicts), good("b"))[1 if cell != "ok" else 2].split()[0] in "ab"
    assert any(cell in line for line in lines(host("a", *verdicts), good("b"))[1:3])


def test_a_warning_is_no_failure_in_a_cell() -> None:
    warned = host("a", Verdict("gpu.x", Status.FAIL, "a", "b", RECOMMENDED))
    assert "1 warn" in lines(warned, good("b"))[1]


def test_a_concern_that_a_host_was_not_asked_about_is_a_dash() -> None:
    both = host("a", *good("a").verdicts, Verdict("gpu.driver", Status.PASS, "a", "b"))
    assert lines(good("b"), both)[:3] == ["   kernel  gpu", "b  ok      -", "a  ok      ok"]


def test_a_cause_is_said_once_with_its_hosts_and_the_fix() -> None:
    found = text(bad("c07"), good("c08"), bad("c11"))
    assert found.count("31 GiB; asked: 48 GiB GTT") == 1
    assert "differs first at: booted" in found
    assert "2 hosts: c07 c11" in found
    assert f"fix: apuhost deploy {SITE} --limit c07 --limit c11" in found


def test_hosts_that_differ_in_numbers_only_have_one_cause() -> None:
    found = text(bad("a", "31.5 GiB"), bad("b", "24 GiB"), good("c"))
    assert "2 hosts (details of a): a b" in found
    assert "24 GiB" not in found


def test_hosts_that_differ_in_words_have_causes_of_their_own() -> None:
    found = text(bad("a", "31 GiB"), bad("b", "no GPU"), good("c"))
    assert "1 host: a" in found
    assert "1 host: b" in found


def test_evidence_that_is_one_hosts_alone_is_called_so() -> None:
    found = text(bad("a", evidence="/proc/x has 1"), bad("b", evidence="/proc/x has 2"), good("c"))
    assert "(/proc/x has 1)" in found
    assert "(details of a)" in found


def test_failures_come_first_and_the_frequent_before_the_rare() -> None:
    warned = host("w", Verdict("gpu.x", Status.FAIL, "a", "b", RECOMMENDED))
    unknown = host("u", Verdict("gpu.y", Status.UNKNOWN, "a", "b", reason="busy"))
    waived = host("v", Verdict("gpu.z", Status.WAIVED, "a", "b", reason="known"))
    rare = bad("r", "no GPU")
    found = text(waived, unknown, warned, rare, bad("b"), bad("c"))
    order = ("31 GiB;", "no GPU;", "warn ", "?  ", "waived known", "waived")
    places = [found.index(part, found.index("FAIL")) for part in order[:4]]
    assert places == sorted(places)
    assert found.index("?      gpu.y") < found.index("waived gpu.z")


def test_what_is_unknown_for_one_reason_is_said_once() -> None:
    unread = host(
        "a",
        *(
            Verdict(f"gpu.x{n}", Status.UNKNOWN, f"question {n}", "not read", reason="no docker")
            for n in "abc"
        ),
    )
    found = text(unread, good("b"))
    assert found.count("no docker") == 1
    assert "and gpu.xb gpu.xc" in found


def test_a_reason_of_several_failures_is_said_once_for_all_hosts() -> None:
    refused = [
        Verdict(f"kernel.{name}", Status.FAIL, "1", "2", reason="no GRUB", fix="apuhost doctor")
        for name in "ab"
    ]
    found = text(host("a", *refused), host("b", *refused), good("c"))
    assert found.count("no GRUB") == 1
    assert "holds for kernel.a kernel.b" in found
    assert "2 hosts: a b" in found


def test_what_was_asked_of_a_host_does_not_part_those_that_lack_one_answer() -> None:
    hosts = [
        host(name, Verdict("gpu.x", Status.UNKNOWN, f"for {name}", "-", reason="no docker"))
        for name in ("ann", "bob")
    ]
    assert "2 hosts (details of ann): ann bob" in text(*hosts, good("c"))


def test_causes_of_the_same_hosts_and_fix_share_their_last_lines() -> None:
    two = [*bad("a").verdicts, Verdict("kernel.x", Status.FAIL, "1", "2", fix=DEPLOY)]
    found = text(host("a", *two), good("b"))
    assert found.count("fix: ") == 1
    assert found.count("1 host: a") == 1


def pasted(found: list[str]) -> list[str]:
    """The one command behind `fix:`, as a shell takes the lines."""
    start = next(n for n, line in enumerate(found) if "apuhost deploy" in line)
    folded = [found[start].rpartition("apuhost deploy")[2]]
    while folded[-1].endswith("\\"):
        start += 1
        folded.append(found[start])
    return shlex.split("\n".join(folded).replace("\\\n", ""))


@pytest.mark.parametrize("fix", [DEPLOY, f"reboot (it is in place), or {DEPLOY}"])
def test_a_fix_for_many_hosts_is_one_shell_command_folded(fix: str) -> None:
    names = [f"c{number}.example; reboot" for number in range(0, 80, 2)]
    found = lines(*(bad(name, fix=fix) for name in names), good("b"))
    assert max(map(len, found)) <= 100
    expected = [SITE, *(part for name in names for part in ("--limit", name))]
    assert pasted(found) == expected


@pytest.mark.parametrize("limits", [(), ("site_a", "b*")])
def test_a_fix_for_all_hosts_names_what_was_asked_for(limits: tuple[str, ...]) -> None:
    found = lines(bad("a"), bad("b"), limits=limits)
    assert pasted(found) == [SITE, *(part for each in limits for part in ("--limit", each))]


def test_a_host_that_was_not_reached_is_not_meant_by_a_fix() -> None:
    found = lines(bad("a"), bad("b"), away("c"))
    assert pasted(found) == [SITE, "--limit", "a", "--limit", "b"]


def test_a_fix_that_is_no_command_of_ours_stays_as_it_is() -> None:
    assert "fix: journalctl -k -b" in text(bad("a", fix="journalctl -k -b"), good("b"))


def test_hosts_that_were_not_reached_come_last_by_reason() -> None:
    refused = (
        away("r1", "connect to host r1 port 22: refused"),
        away("r2", "connect to host r2 port 22: refused"),
    )
    found = lines(away("c02"), *refused, away("c15"), good("a"), away("c19"))
    assert found[-7:] == [
        "",
        "not reached                  connection timed out",
        "                             3 hosts: c02 c15 c19",
        "not reached                  connect to host r1 port 22: refused",
        "                             2 hosts (details of r1): r1 r2",
        "",
        "1 of 6 hosts good, 5 not reached",
    ]


def test_hosts_whose_saved_facts_look_damaged_are_named_once() -> None:
    damaged = [
        HostReport(name, "", (), damage=f"{count} of 34 files cannot be read")
        for name, count in (("a", 20), ("b", 30))
    ]
    assert lines(*damaged, good("c"))[-4:-1] == [
        "damaged                      20 of 34 files cannot be read",
        "                             2 hosts (details of a): a b",
        "",
    ]


def test_no_host_reached_leaves_no_empty_matrix() -> None:
    assert lines(away("a"), away("b"))[0].startswith("not reached")


def test_all_good_is_a_matrix_and_a_line() -> None:
    assert lines(good("a"), good("b")) == ["     kernel", "a b  ok", "", "2 of 2 hosts good"]


def test_everything_is_every_hosts_table_and_then_the_same() -> None:
    brief, whole = lines(good("a"), bad("b")), lines(good("a"), bad("b"), every=True)
    assert whole[-len(brief) :] == brief
    assert "ok     kernel.gtt            48 GiB" in whole


HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\udc80\u202e\n"


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(bad("a", HOSTILE, evidence=HOSTILE), id="found"),
        pytest.param(bad(HOSTILE), id="name"),
        pytest.param(away("a", HOSTILE), id="reason"),
        pytest.param(away(HOSTILE, "x"), id="name of one that is away"),
    ],
)
def test_control_characters_of_a_host_are_shown_not_obeyed(found: HostReport) -> None:
    assert all(line.isprintable() for line in lines(found, good("b"), every=True))
