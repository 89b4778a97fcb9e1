"""Is every boot saved, were those since the last report good, and what changed?"""

from dataclasses import replace

import pytest
from tests.support import stack
from tests.support.hosts import LINE, host_facts, settings, unit_files
from tests.support.stack import boots, saved
from tests.support.verdicts import also, failing, judge, unread, verdict

from apuhost.changes import boot as changes
from apuhost.host_facts import HostFacts
from apuhost.last_report import LastReport
from apuhost.probes.units import SCRIPT
from apuhost.verdicts import Layer, Severity, Status, Verdict
from apuhost.verdicts.boot import seen
from apuhost.verdicts.versions import versions

GOOD = saved(host_facts().readings)
WRONG = saved(host_facts(cmdline=f"{LINE} quiet\n").readings)
NOTED = LastReport(
    "2026-11-28T06:00:00+00:00",
    versions(host_facts()),
    {"11111111-2222-4333-8444-555555555555": stack.DAY_BEFORE},
)


def told(facts: HostFacts, verdict_id: str, **data: object) -> Verdict:
    return verdict(facts, verdict_id, kernel_gtt_gib=48, **data)


def test_a_deployed_host_saves_its_boots() -> None:
    found = told(host_facts(), "boot.unit")
    assert (found.status, found.observed) == ("pass", "its last run was good")


WRITTEN = [changes.PROGRAM, changes.UNIT, changes.TIMER]


@pytest.mark.parametrize(
    ("path", "text"),
    [*((path, text) for path in WRITTEN for text in (None, "mine\n")), (SCRIPT, None)],
)
def test_a_file_that_is_not_as_rendered(path: str, text: str | None) -> None:
    files = {each: was for each, was in unit_files().items() if each != path}
    files |= {path: text} if text else {}
    found = told(host_facts(units=stack.units(files)), "boot.unit")
    assert failing(found) == (Status.FAIL, Layer.CONFIGURED)
    assert found.observed == f"{path} is {'not as rendered' if text else 'not there'}"


def test_the_script_of_another_version_saves_as_well() -> None:
    files = {**unit_files(), SCRIPT: "of 0.1.0\n"}
    assert told(host_facts(units=stack.units(files)), "boot.unit").status == "pass"


@pytest.mark.parametrize(
    ("unit", "other", "layer", "observed"),
    [
        ("apuhost-boot", {"UnitFileState": "disabled"}, "configured", "apuhost-boot.service is"),
        ("apuhost-boot.timer", {"UnitFileState": "masked"}, "configured", "apuhost-boot.timer is"),
        ("apuhost-boot", {"ActiveState": "failed", "Result": "exit-code"}, "live", "failed, exit"),
        ("apuhost-boot.timer", {"ActiveState": "inactive"}, "live", "its timer is inactive"),
    ],
)
def test_a_unit_that_saves_nothing(
    unit: str, other: dict[str, str], layer: str, observed: str
) -> None:
    facts = host_facts(units=stack.units(unit_files(), changed={unit: other}))
    found = told(facts, "boot.unit")
    assert (found.status, found.severity, found.layer) == ("fail", "required", layer)
    assert observed in found.observed


def test_a_run_at_work_is_good_since_each_run_sees_itself_so() -> None:
    facts = host_facts(
        units=stack.units(unit_files(), changed={"apuhost-boot": {"ActiveState": "activating"}})
    )
    assert told(facts, "boot.unit").status == "pass"


def test_a_boot_alone_is_reported() -> None:
    found = told(host_facts(), "boot.reports")
    assert (found.status, found.observed) == (
        "pass",
        "this boot saved 2026-11-29 09:13; none before it",
    )


@pytest.mark.parametrize(
    ("facts", "told_to"),
    [
        pytest.param(host_facts(boots=boots(this=None)), changes.UNIT_NAME, id="not run yet"),
        pytest.param(
            host_facts(boots=boots(this=None), units=stack.units({})),
            "apuhost-boot.service is not there (boot.unit)",
            id="no unit that could be started",
        ),
    ],
)
def test_a_boot_that_was_not_saved_is_unknown_with_what_helps(
    facts: HostFacts, told_to: str
) -> None:
    found = told(facts, "boot.reports")
    assert (found.status, told_to in found.reason) == (Status.UNKNOWN, True)
    assert ("systemctl start" in found.reason) is facts.units.known(changes.UNIT_NAME)


def test_good_boots_are_counted() -> None:
    found = told(host_facts(boots=boots(GOOD, GOOD)), "boot.reports")
    assert found.observed.endswith("2 boots before it: all good")


def test_a_boot_that_was_not_good_warns_with_its_layer() -> None:
    found = told(host_facts(boots=boots(GOOD, WRONG)), "boot.reports")
    assert (found.status, found.severity) == (Status.FAIL, Severity.RECOMMENDED)
    assert found.observed.startswith(
        "boot 21111111 of 2026-11-27 09:14: kernel.gtt failed, differs first at booted, and "
    )
    assert "journalctl -b 21111111222243338444555555555555" in found.fix


def test_what_was_waived_then_is_no_failure_of_that_boot() -> None:
    waived = [
        {"id": each.id, "reason": "known", "until": "2026-11-28"}
        for each in judge(
            "minipc", settings(kernel_gtt_gib=48), host_facts(cmdline=f"{LINE} quiet\n")
        ).verdicts
        if each.status is Status.FAIL
    ]
    facts = host_facts(boots=boots(WRONG))
    assert told(facts, "boot.reports", host_waivers=waived).status == "pass"
    late = [{**each, "until": "2026-11-27"} for each in waived]
    assert told(facts, "boot.reports", host_waivers=late).status == "fail"


def test_a_boot_is_told_of_once() -> None:
    facts = replace(host_facts(boots=boots(WRONG)), last=NOTED)
    found = told(facts, "boot.reports")
    assert (found.status, found.observed) == (
        "pass",
        "this boot saved 2026-11-29 09:13; none since 2026-11-28",
    )


def test_a_boot_that_was_saved_again_is_told_of_again() -> None:
    last = replace(NOTED, boots={key: at - 9 for key, at in NOTED.boots.items()})
    found = told(replace(host_facts(boots=boots(WRONG)), last=last), "boot.reports")
    assert found.status == "fail"


def test_of_many_boots_it_says_how_many_were_judged() -> None:
    text = boots(GOOD)
    more = "".join(f"boot 9999999{n}-2222-4333-8444-555555555555 9 {n}\n" for n in range(4))
    found = told(host_facts(boots=text.replace("end\n", f"{more}end\n")), "boot.reports")
    assert found.observed.endswith("5 boots before it, the newest 1 judged: all good")
    large = told(host_facts(boots=boots(GOOD, sent=False)), "boot.reports")
    assert large.observed.endswith("1 boot before it, not judged: their files are large")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(boots(this=None), "nothing was saved of this boot yet", id="none"),
        pytest.param(boots(GOOD, this=None), "nothing was saved of this boot yet", id="past"),
        pytest.param(boots("half"), "a boot's facts are not whole", id="another text"),
        pytest.param(
            boots(GOOD).replace("saved 11111111-2222-4333-8444-555555555555 H", "saved "
            "11111111-2222-4333-8444-555555555555 *"), "is damaged on the host", id="damaged",
        ),
        pytest.param("boot", "ends in the middle", id="cut"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_unknown(text: str, reason: str) -> None:
    found = told(host_facts(boots=text), "boot.reports")
    assert found.status == "unknown"
    assert reason in found.reason


def test_the_first_report_has_nothing_to_compare_with() -> None:
    found = told(host_facts(), "boot.unchanged")
    assert (found.status, found.reason) == ("skip", "first report")


def test_nothing_changed_since_the_last_report() -> None:
    found = told(replace(host_facts(), last=NOTED), "boot.unchanged")
    assert (found.status, found.observed) == ("pass", "as on 2026-11-28")


@pytest.mark.parametrize(
    ("name", "before", "now"),
    [
        ("kernel", "6.12.111+deb13-amd64", "6.12.117+deb13-amd64"),
        ("Mesa", "25.0.5-1", "25.0.7-2"),
        ("GPU firmware", "20250210-1", "20250410-2"),
        ("Ollama's image", "0123456789ab", stack.IMAGE_DIGEST.removeprefix("sha256:")[:12]),
        ("Mesa in its container", "25.0.7-0ubuntu0.24.04.1", "25.2.8-0ubuntu0.24.04.1"),
        ("Docker", "20.10.24", versions(host_facts())["Docker"]),
    ],
)
def test_each_version_that_changed_is_named_with_the_one_before(
    name: str, before: str, now: str
) -> None:
    last = replace(NOTED, versions={**NOTED.versions, name: before})
    found = told(replace(host_facts(), last=last), "boot.unchanged")
    assert failing(found) == (Status.FAIL, Layer.EFFECTIVE)
    assert found.severity == "recommended"
    assert found.observed == f"{name} {before} is {now} since 2026-11-28"


def test_what_the_last_report_could_not_tell_is_not_compared() -> None:
    last = replace(NOTED, versions={"kernel": NOTED.versions["kernel"]})
    assert told(replace(host_facts(), last=last), "boot.unchanged").status == "pass"


def test_a_mesa_that_only_now_cannot_be_read_is_unknown() -> None:
    """A report of an older apuhost, which did not ask for it, has nothing to compare."""
    stopped = also(host_facts(), container_packages="refused Ollama's container does not run\n")
    found = told(replace(stopped, last=NOTED), "boot.unchanged")
    assert (found.status, "does not run" in found.reason) == (Status.UNKNOWN, True)
    older = {key: each for key, each in NOTED.versions.items() if key != "Mesa in its container"}
    unasked = replace(stopped, last=replace(NOTED, versions=older))
    assert told(unasked, "boot.unchanged").status == "pass"


def test_an_image_without_dpkg_is_told_of_once() -> None:
    facts = also(host_facts(), container_packages="end\n")
    found = told(replace(facts, last=NOTED), "boot.unchanged")
    assert found.status is Status.FAIL
    assert found.observed.startswith("Mesa in its container 25.2.8-0ubuntu0.24.04.1 is none since")
    again = told(replace(facts, last=seen(facts).after(NOTED)), "boot.unchanged")
    assert again.status is Status.PASS


def test_the_boot_before_counts_where_no_report_is_kept() -> None:
    older = {**host_facts().readings}
    kernel = older["kernel"]
    older["kernel"] = replace(kernel, text=kernel.text.replace("running 6.12.117", "running 6.12"))
    found = told(host_facts(boots=boots(saved(older))), "boot.unchanged")
    assert found.observed == "kernel 6.12+deb13-amd64 is 6.12.117+deb13-amd64 since 2026-11-28"
    same = told(host_facts(boots=boots(GOOD)), "boot.unchanged")
    assert (same.status, same.observed) == ("pass", "as on 2026-11-28")


def test_what_cannot_be_read_now_is_unknown_and_what_changed_outweighs_it() -> None:
    facts = replace(unread(host_facts(), "packages"), last=NOTED)
    found = told(facts, "boot.unchanged")
    assert (found.status, found.reason) == ("unknown", "packages was not read")
    last = replace(NOTED, versions={**NOTED.versions, "kernel": "6.1"})
    assert told(replace(facts, last=last), "boot.unchanged").status == "fail"
    damaged = LastReport("", damage="/x.json: not readable")
    found = told(replace(host_facts(), last=damaged), "boot.unchanged")
    assert (found.status, found.reason) == ("unknown", "/x.json: not readable")


def test_a_silent_docker_has_not_changed() -> None:
    facts = replace(also(host_facts(), docker=stack.docker_down()), last=NOTED)
    assert told(facts, "boot.unchanged").status == "unknown"


def test_what_is_seen_is_what_the_next_report_compares_with() -> None:
    facts = host_facts(boots=boots(WRONG))
    later = replace(facts, last=seen(facts))
    assert told(later, "boot.reports").status == "pass"
    assert told(later, "boot.unchanged").observed == "as on 2026-11-29"
    assert seen(unread(facts, "boots", "docker")).boots == {}
    assert "Docker" not in seen(unread(facts, "boots", "docker")).versions


def test_ubuntus_firmware_and_a_host_without_any() -> None:
    ubuntu = stack.packages("firmware-amd-graphics").replace(
        "end\n", "ii |linux-firmware|20240318.git3b128b60-0ubuntu2|all\nend\n"
    )
    assert versions(also(host_facts(), packages=ubuntu))["GPU firmware"].startswith("20240318")
    bare = also(
        host_facts(),
        packages="native amd64\nend\n",
        docker=stack.NO_DOCKER,
        containers="absent\n",
        container_packages="absent\n",
    )
    assert {value for name, value in versions(bare).items() if name != "kernel"} == {"none"}
