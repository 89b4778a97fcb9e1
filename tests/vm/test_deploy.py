"""A bare machine is deployed, reboots through its own GRUB, and is judged; a second run is idle."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.vm.conftest import INVENTORY, Lab

PARAMETERS = ["amd_iommu=off", "ttm.pages_limit=12582912", "amdgpu.lockup_timeout=10000"]


def test_a_bare_machine_ends_with_the_declared_line_in_a_new_boot(
    first_deploy: tuple[str, "subprocess.CompletedProcess[str]"], deployed: Lab
) -> None:
    before, done = first_deploy
    assert done.returncode == 0, done.stdout + done.stderr
    host = deployed.host()
    assert deployed.boot_id() != before
    assert host.check_output("cat /proc/cmdline").split()[-3:] == PARAMETERS
    ttm = host.file("/sys/module/ttm/parameters/pages_limit")
    assert ttm.content_string.strip() == "12582912"
    amdgpu = host.file("/sys/module/amdgpu/parameters/lockup_timeout")
    assert amdgpu.content_string.strip() == "10000"


def test_a_second_deploy_changes_nothing(deployed: Lab) -> None:
    before = deployed.boot_id()
    planned = deployed.apuhost("plan", str(INVENTORY))
    assert "rehearsal  nothing to change" in planned.stdout
    done = deployed.deploy()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no operations changed something" in done.stdout
    assert deployed.boot_id() == before


def test_pyinfra_itself_finds_nothing_to_do(deployed: Lab) -> None:
    done = deployed.pyinfra("--dry", "--json")
    plan = json.loads(done.stdout)["plan"]
    assert [step["name"] for step in plan if step["hosts_with_change"]] == []


@pytest.mark.long  # test_verify.py asks the same of the whole stack
def test_saved_facts_give_the_same_verdicts_without_the_host(deployed: Lab, tmp_path: Path) -> None:
    live = deployed.verdicts()
    saved = deployed.apuhost("facts", str(INVENTORY), "-o", str(tmp_path))
    assert saved.returncode == 0, saved.stderr
    judged = deployed.apuhost(
        "verify", "--from", str(tmp_path), "--json", "-", APUHOST_REHEARSAL_STATE="/nonexistent"
    )
    (host,) = json.loads(judged.stdout)["hosts"]
    assert {verdict["id"]: verdict for verdict in host["verdicts"]} == live
