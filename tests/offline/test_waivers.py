"""Waivers: shown with their reason, gone after their day, never a pass."""

from datetime import date
from pathlib import Path

import pytest
from tests.support.hosts import LINE, host_facts, settings
from tests.support.verdicts import judge

from apuhost import report, verdict_ids
from apuhost.host_facts import HostFacts
from apuhost.inventory import Host, InventoryError
from apuhost.inventory import settings as judged_settings
from apuhost.settings import resolve
from apuhost.settings.waiver import Waiver
from apuhost.verdicts import Layer, Severity, Status, Verdict
from apuhost.verdicts.host import CONCERNS, HostReport
from apuhost.verdicts.waivers import after_waivers, day_of

WHY = "the NPU is in use"
LAST = date(2027, 3, 1)
DAY = "2027-03-01"
RECOMMENDED = Severity.RECOMMENDED


def waiver(until: date | None = LAST, name: str = "kernel.iommu") -> Waiver:
    return Waiver(id=name, reason=WHY, until=until)


def verdict(status: Status, severity: Severity = Severity.REQUIRED, reason: str = "") -> Verdict:
    return Verdict(
        *("kernel.iommu", status, "IOMMU off", "IOMMU translated", severity),
        layer=Layer.EFFECTIVE,
        evidence="/sys/class/iommu",
        fix="apuhost deploy INVENTORY",
        reason=reason,
    )


def after(found: Verdict, given: Waiver, today: date = LAST) -> Verdict:
    (one,) = after_waivers([found], [given], today)
    return one


def shown(found: Verdict) -> str:
    one = HostReport("box1", "Debian 13", (found,))
    return "\n".join(report.verify_lines([one], "i.py", every=False))


BAD = [
    pytest.param(verdict(Status.FAIL), id="fails"),
    pytest.param(verdict(Status.FAIL, RECOMMENDED), id="warns"),
    pytest.param(verdict(Status.UNKNOWN, reason="not readable"), id="unknown"),
    pytest.param(verdict(Status.UNKNOWN, RECOMMENDED, "not readable"), id="recommended, unknown"),
]


@pytest.mark.parametrize("found", BAD)
@pytest.mark.parametrize("until", [LAST, date(9999, 12, 31), None])
def test_what_is_waived_is_shown_with_its_reason_and_fails_nothing(
    found: Verdict, until: date | None
) -> None:
    waived = after(found, waiver(until))
    assert waived.status is Status.WAIVED
    assert waived.until == ("" if until is None else str(until))
    assert found.reason in waived.reason
    assert (waived.observed, waived.evidence) == (found.observed, found.evidence)
    end = f" until {until}" if until else ""
    assert f"waived{end}: {WHY}" in shown(waived)
    assert f"0 of 0 good (1 waived: kernel.iommu{end})" in shown(waived)
    one = HostReport("box1", "", (waived,))
    assert report.exit_status([one]) == 0
    assert report.as_json([one])["failures"] == []


@pytest.mark.parametrize("found", BAD)
def test_an_expired_waiver_fails_and_says_so(found: Verdict) -> None:
    failed = after(found, waiver(), date(2027, 3, 2))
    assert (failed.status, failed.severity) == (Status.FAIL, Severity.REQUIRED)
    assert f"waiver of kernel.iommu expired on {DAY} ({WHY})" in shown(failed)
    assert found.reason in failed.reason
    assert failed.fix
    one = HostReport("box1", "", (failed,))
    assert report.exit_status([one]) == 1
    assert report.as_json([one])["failures"] == ["box1 kernel.iommu"]


def test_of_what_is_unknown_no_layer_is_said_to_differ_when_its_waiver_expires() -> None:
    failed = after(verdict(Status.UNKNOWN, reason="not readable"), waiver(), date(2028, 1, 1))
    assert failed.layer is None
    assert "host_waivers" in failed.fix


@pytest.mark.parametrize("today", [LAST, date(2028, 1, 1)])
def test_a_waiver_of_what_passes_is_no_longer_needed(today: date) -> None:
    passed = after(verdict(Status.PASS), waiver(), today)
    assert passed.status is Status.PASS
    assert "IOMMU translated (waiver no longer needed" in shown(passed)
    assert "1 of 1 good" in shown(passed)


@pytest.mark.parametrize("today", [LAST, date(2028, 1, 1)])
def test_what_is_skipped_stays_so(today: date) -> None:
    skipped = verdict(Status.SKIP, reason="a virtual machine")
    assert after(skipped, waiver(), today) == skipped


def test_a_waiver_is_for_one_verdict() -> None:
    failed = verdict(Status.FAIL)
    assert after(failed, waiver(name="kernel.gtt")) == failed


@pytest.mark.parametrize(
    ("today", "status", "exit_status"),
    [(LAST, Status.WAIVED, 0), (date(2027, 3, 2), Status.FAIL, 1)],
)
def test_a_hosts_settings_waive_on_a_day(today: date, status: Status, exit_status: int) -> None:
    given = [{"id": "kernel.iommu", "reason": WHY, "until": DAY}]
    asked = settings(kernel_gtt_gib=48, host_waivers=given)
    found = judge("box1", asked, host_facts(iommu="groups=20\ntranslated=3\n"), today)
    assert [v.status for v in found.verdicts if v.id == "kernel.iommu"] == [status]
    assert report.exit_status([found]) == exit_status


def test_a_host_of_which_nothing_is_read_can_be_waived_by_verdict() -> None:
    given = [{"id": each, "reason": WHY} for each in verdict_ids.ALL]
    found = judge("box1", settings(host_waivers=given), HostFacts("box1", "", {}))
    assert {verdict.status for verdict in found.verdicts} == {Status.WAIVED}
    assert all(len(line) <= 100 for line in report.verify_lines([found], "i.py", every=False))


def test_the_summary_names_waived_verdicts_with_their_days() -> None:
    given = [
        {"id": "kernel.iommu", "reason": WHY, "until": DAY},
        {"id": "kernel.gtt", "reason": "x"},
    ]
    asked = settings(kernel_gtt_gib=48, host_roles=["kernel"], host_waivers=given)
    found = judge("box1", asked, host_facts(cmdline=f"{LINE} quiet amdgpu.lockup_timeout=10000\n"))
    *_, counted, last = report.verify_lines([found], "i.py", every=False)
    assert last.endswith(f" good (2 waived: kernel.gtt, kernel.iommu until {DAY})")
    assert counted.startswith("kernel 5/5 ")


@pytest.mark.parametrize(
    ("gathered", "day"),
    [
        ("2026-11-29T09:14:00+00:00", date(2026, 11, 29)),
        ("2026-11-29T23:14:00-05:00", date(2026, 11, 30)),
    ],
)
def test_the_day_on_which_facts_were_read(gathered: str, day: date) -> None:
    assert day_of(HostFacts("box1", gathered, {})) == day


GOOD = {"id": "kernel.iommu", "reason": WHY}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        pytest.param([{**GOOD, "id": "kernel.iomu"}], ": no verdict: kernel.iommu? (", id="a typo"),
        pytest.param([{**GOOD, "id": "kernel.lockup-timeout"}], "kernel.lockup_timeout?", id="-"),
        pytest.param([{**GOOD, "id": "zzz"}], ": no verdict (", id="nothing near"),
        pytest.param([{**GOOD, "id": 1}], "with id", id="a number"),
        pytest.param([{**GOOD, "reason": " "}], ": one line that says why (", id="no reason"),
        pytest.param([{**GOOD, "reason": "a\nb"}], ": one line that says why (", id="two lines"),
        pytest.param([{"id": "kernel.iommu"}], "is missing", id="reason is missing"),
        pytest.param([{**GOOD, "until": "2027-02-30"}], ": no day of the calendar (", id="no day"),
        pytest.param([{**GOOD, "until": "20270301"}], 'as text: "2027-03-01"', id="no dashes"),
        pytest.param([{**GOOD, "until": ""}], 'as text: "2027-03-01"', id="empty"),
        pytest.param([{**GOOD, "until": {"date": DAY}}], "as text", id="datetime.date, by pyinfra"),
        pytest.param([{**GOOD, "until": 20270301}], "as text", id="a number for a day"),
        pytest.param([{**GOOD, "end": DAY}], "host_waivers[0].end", id="another key"),
        pytest.param([GOOD, {**GOOD, "until": DAY}], ": kernel.iommu stands twice (", id="twice"),
        pytest.param({"kernel.iommu": WHY}, "host_waivers is", id="no list"),
        pytest.param(["kernel.iommu"], "host_waivers[0] is", id="ids alone"),
    ],
)
def test_a_waiver_that_cannot_be_right_is_told(value: object, told: str) -> None:
    resolved, (problem,) = resolve("box1", {"host_waivers": value})
    assert resolved is None
    assert problem.key == "host_waivers"
    assert told in problem.sentence
    assert len(problem.sentence) < 200


def test_all_problems_of_all_hosts_are_told_before_any_is_contacted(tmp_path: Path) -> None:
    inventory = tmp_path / "site.py"
    inventory.write_text("host_waivers = 0\n")
    hosts = [
        Host("box1", (), {"host_waivers": [{**GOOD, "id": "kernel.iomu"}, {**GOOD, "id": "gpu"}]}),
        Host("box2", (), {"host_waivers": [{**GOOD, "until": "soon"}], "kernel_gtt_gb": 1}),
    ]
    with pytest.raises(InventoryError) as raised:
        judged_settings(inventory, hosts)
    lines = str(raised.value).splitlines()
    assert len(lines) == 5
    assert lines[-1] == "4 problems, nothing contacted"
    assert "kernel.iommu?" in lines[0]


def test_what_can_be_waived_is_what_is_asked() -> None:
    asked = [name for each in CONCERNS for name in (*each.IDS, *getattr(each, "ACTIVE_IDS", ()))]
    assert list(verdict_ids.ALL) == asked
