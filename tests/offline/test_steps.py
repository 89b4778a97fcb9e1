"""Steps: each asks the host, does what the plan told, and says why where nothing is due."""

from pathlib import Path

import pytest
from tests.offline.test_stack_changes import BARE
from tests.support.box import Box
from tests.support.deploying import deploy as deployed
from tests.support.deploying import written
from tests.support.hosts import host_facts, settings
from tests.support.taking import Still, first

from apuhost.changes.host import PLANS
from apuhost.derived import derive
from apuhost.round_trip import Reading
from apuhost.settings import ROLES
from apuhost.steps import NextBoot, Script, Step, StepFailed, kept
from apuhost.steps.admission import ADMIT
from apuhost.steps.order import ORDER, steps
from apuhost.steps.reboot import BY_HAND, REBOOT_STEP, boot_id_in

STACK = ["vulkan", "docker", "ollama", "models", "boot"]
ASKED = settings(host_roles=STACK, kernel_gtt_gib=48)
BOOT_ID = "0a1b2c3d-0000-4000-8000-000000000000"
EVERY = [pytest.param(part.role, step, id=label) for label, part, step in steps()]


def test_every_role_has_steps_in_the_order_of_the_plan() -> None:
    first_of_each = dict.fromkeys(part.role for part in ORDER if part.role)
    unordered = {"docker", "vulkan"}  # the site's proxy comes before the first download
    assert [role for role in first_of_each if role not in unordered] == [
        role for role in ROLES if role not in unordered
    ]
    assert set(first_of_each) == set(ROLES)


def test_no_two_steps_have_one_name() -> None:
    labels = [label for label, _, _ in steps()]
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize(("role", "step"), [each for each in EVERY if each.values[0] in STACK])
def test_a_step_of_a_host_that_has_everything_says_so_and_does_nothing(
    role: str, step: Step
) -> None:
    host = Still(ASKED, deployed(Box(), ASKED).facts())
    assert first(step, host) is None
    assert len(host.said) == 1


def test_what_tells_of_a_file_that_is_written_is_read_again() -> None:
    box = BARE
    told = dict[str, set[str]]()
    for label, part, step in steps():
        found = first(step, Still(ASKED, box.facts())) if part.role in STACK else None
        if isinstance(found, Script) and found.change:
            before, box = box.facts().readings, written(box, found.change)
            after = box.facts().readings
            told[label] = {name for name in after if after[name] != before[name]}
            assert told[label] <= {*step.changing}, label
    assert all(told.values())
    assert len(told) > 5


@pytest.mark.parametrize("role", STACK)
def test_a_role_with_something_planned_has_a_step_that_does_it(role: str) -> None:
    host = Still(ASKED, Box().facts())
    planned = PLANS[role](derive(ASKED, host.facts), host.facts)
    due = [step for _, part, step in steps() if part.role == role and first(step, host)]
    assert bool(due) != planned.empty


def test_a_host_that_is_refused_fails_at_the_first_step() -> None:
    assert ORDER[0].steps == (ADMIT,)
    with pytest.raises(StepFailed, match=r"refused: .*; nothing was touched"):
        first(ADMIT, Still(settings(kernel_gtt_gib=64), host_facts()))


def test_a_reboot_is_proved_by_another_boot_id() -> None:
    host = Still(settings(kernel_gtt_gib=24), host_facts())
    orders = list(REBOOT_STEP.work(host))
    assert [type(order) for order in orders] == [Script, NextBoot, Script]
    assert isinstance(orders[1], NextBoot)
    assert orders[1].boot_id == host.facts.boot.boot_id


def test_this_very_machine_is_rebooted_by_hand() -> None:
    host = Still(settings(kernel_gtt_gib=24), host_facts(), local=True)
    assert first(REBOOT_STEP, host) is None
    assert host.warned == [BY_HAND]


def test_readings_that_were_kept_are_the_same_bytes(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    assert kept.load(file) == {}
    readings = {"grub": Reading("a\udcff\u2028\n", 0), "units": Reading("", 1)}
    kept.save(file, readings)
    assert kept.load(file) == readings
    assert [path.name for path in tmp_path.iterdir()] == ["kept.json"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{BOOT_ID}\n", BOOT_ID),
        (f"Welcome\n{BOOT_ID}\n", BOOT_ID),
        ("Welcome\n", None),
        ("", None),
        (BOOT_ID[:-1], None),
    ],
)
def test_a_boot_id_is_one_and_stands_last(text: str, found: str | None) -> None:
    assert boot_id_in(text) == found
