"""What the boot role writes, and when its unit must run."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import stack
from tests.support.box import Box
from tests.support.deploying import deploy as deployed
from tests.support.hosts import host_facts, settings, unit_files

from apuhost import settings as module
from apuhost.changes import RolePlan, boot
from apuhost.changes.host import plan
from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.probes.units import SCRIPT
from apuhost.saved_boot import SETTINGS
from apuhost.settings import as_data, resolve

HERE = {"boot_checkout": "/opt/apuhost"}
OURS = {boot.UNIT_NAME, boot.TIMER_NAME}
WRITTEN = {boot.PROGRAM, SCRIPT, boot.UNIT, boot.TIMER}
BARE = replace(
    Box(),
    files={path: text for path, text in Box().files.items() if path not in WRITTEN},
    enabled=Box().enabled - OURS,
)


def planned(facts: HostFacts, **data: object) -> RolePlan:
    asked = settings(kernel_gtt_gib=48, **data)
    return next(role for role in plan(asked, facts).roles if role.role == "boot")


def paths(found: RolePlan) -> list[str]:
    return [change.path for change in found.files]


def test_a_host_without_it_gets_program_script_unit_and_timer() -> None:
    found = planned(BARE.facts())
    assert paths(found) == [boot.PROGRAM, SCRIPT, boot.UNIT, boot.TIMER]
    assert [action.what for action in found.actions] == [boot.UNIT_NAME, boot.TIMER_NAME]


def test_a_host_that_has_it_gets_nothing() -> None:
    assert planned(host_facts()).empty


@pytest.mark.parametrize("data", [{}, HERE, {**HERE, "boot_textfile_dir": "/var/lib/node"}])
def test_a_second_deploy_has_nothing_to_do(data: dict[str, Any]) -> None:
    asked = settings(kernel_gtt_gib=48, **data)
    assert plan(asked, deployed(BARE, asked).facts()).empty


def test_left_out_of_host_roles_it_is_not_touched() -> None:
    roles = ["kernel", "vulkan", "docker", "ollama", "models"]
    assert plan(settings(kernel_gtt_gib=48, host_roles=roles), BARE.facts()).empty


def test_the_script_of_another_version_is_brought_up_to_date() -> None:
    files = {**unit_files(), SCRIPT: "echo of another version\n"}
    found = planned(host_facts(units=stack.units(files)))
    (change,) = found.files
    assert (change.path, change.why) == (SCRIPT, "brought up to date")
    assert change.found == stack.sha256("echo of another version\n")
    assert found.actions[0].why == (f"{SCRIPT} changes",)


def test_the_script_asks_everything_but_what_was_saved() -> None:
    script = unit_files()[SCRIPT]
    assert "probe kernel " in script
    assert "probe boots " not in script


def test_settings_are_left_where_the_host_judges_itself() -> None:
    found = planned(host_facts(), **HERE)
    assert paths(found) == [boot.PROGRAM, SETTINGS]
    program, told = found.files
    assert "/opt/apuhost/.venv/bin/apuhost" in program.after
    facts = host_facts(units=stack.units({**unit_files(), SETTINGS: told.after}))
    gone = planned(facts)
    assert [(change.path, change.after) for change in gone.files] == [(SETTINGS, "")]


def test_settings_come_back_as_they_were() -> None:
    asked = settings(
        host_waivers=[{"id": "kernel.gtt", "reason": "old", "until": "2027-03-01"}],
        host_simulated={"memory_gib": 61, "gpu": "1002:1900"},
        **HERE,
    )
    found, problems = resolve("minipc", as_data(asked))
    assert (found, problems) == (asked, ())
    assert set(as_data(asked)) == set(module.variables())


@pytest.mark.parametrize(
    ("unit", "changes", "why"),
    [
        ("apuhost-boot", {"UnitFileState": "disabled"}, "it is disabled, not enabled"),
        ("apuhost-boot", {"ActiveState": "failed"}, "it is failed"),
        ("apuhost-boot", {"ActiveState": "activating"}, "it is activating"),
        ("apuhost-boot", {"NeedDaemonReload": "yes"}, "its file was changed since"),
        ("apuhost-boot.timer", {"ActiveState": "inactive"}, "it is inactive"),
        ("apuhost-boot.timer", {"UnitFileState": "masked"}, "it is masked, not enabled"),
    ],
)
def test_a_unit_that_does_not_do_its_work_is_started(
    unit: str, changes: dict[str, str], why: str
) -> None:
    facts = host_facts(units=stack.units(unit_files(), changed={unit: changes}))
    (action,) = planned(facts).actions
    assert action.what == (unit if "." in unit else f"{unit}.service")
    assert action.why == (why,)


def test_metrics_go_where_they_are_collected() -> None:
    derived = derive(settings(**HERE, boot_textfile_dir="/var/lib/node"), host_facts())
    program = next(
        each.after for each in boot.programs(derived, host_facts()) if each.path == boot.PROGRAM
    )
    assert "--metrics /var/lib/node/apuhost.prom" in program


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("boot_keep", 1, "2 to 100"),
        ("boot_keep", "10", "2 to 100"),
        ("boot_every_h", 0, "1 to 8760"),
        ("boot_every_h", 1.5, "1 to 8760"),
        ("boot_checkout", "apuhost", "absolute path"),
        ("boot_checkout", "/opt/$(id)", "plain letters"),
        ("boot_checkout", "/opt/../root", "plain letters"),
        ("boot_textfile_dir", "/var/lib/node", "only a host with boot_checkout"),
    ],
)
def test_settings_that_cannot_be_right(key: str, value: object, told: str) -> None:
    resolved, (problem,) = resolve("box1", {key: value})
    assert resolved is None
    assert problem.key == key
    assert told in problem.sentence
