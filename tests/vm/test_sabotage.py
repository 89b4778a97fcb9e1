"""Whatever somebody does to a deployed machine is named by the right check at the right layer."""

import pytest

from tests.vm.conftest import INVENTORY, Lab

DROP_IN = "/etc/default/grub.d/zz-apuhost.cfg"
APPENDS = 'GRUB_CMDLINE_LINUX_DEFAULT=\\"\\$GRUB_CMDLINE_LINUX_DEFAULT {}\\"'
ALL = {"kernel.gtt", "kernel.iommu", "kernel.lockup_timeout"}


def appended(parameters: str, path: str) -> str:
    """A command that writes a drop-in with these parameters, as an operator would."""
    return f'echo "{APPENDS.format(parameters)}" > {path}'


def test_a_deployed_machine_has_nothing_wrong(deployed: Lab) -> None:
    assert deployed.wrong() == {}


def test_parameter_taken_out_of_grub_cfg_only(deployed: Lab) -> None:
    deployed.root("sed -i 's/ ttm.pages_limit=12582912//' /boot/grub/grub.cfg")
    assert deployed.wrong() == {"kernel.gtt": "configured"}


@pytest.mark.long
def test_drop_in_removed_but_booted(deployed: Lab) -> None:
    deployed.root(f"rm {DROP_IN}")
    assert deployed.wrong() == dict.fromkeys(ALL, "configured")


@pytest.mark.long
def test_another_drop_in_behind_ours(deployed: Lab) -> None:
    site = "/etc/default/grub.d/zzz-site.cfg"
    deployed.root(appended("ttm.pages_limit=8126464", site))
    assert deployed.wrong() == {"kernel.gtt": "configured", "kernel.drop_in": "configured"}
    assert site in deployed.verdicts()["kernel.gtt"]["evidence"]


def test_value_written_to_sys(deployed: Lab) -> None:
    deployed.root("echo 3145728 > /sys/module/ttm/parameters/pages_limit")
    assert deployed.wrong() == {"kernel.gtt": "live"}


def test_older_value_earlier_is_harmless_and_a_typo_is_named(deployed: Lab) -> None:
    earlier = "/etc/default/grub.d/10-old.cfg"
    deployed.root(appended("ttm.pages_limit=8126464 amdgpu.gtt_size=49152", earlier))
    deployed.root("update-grub")
    deployed.reboot()
    assert deployed.cmdline().count("ttm.pages_limit=12582912") == 1
    assert deployed.wrong() == {"kernel.arguments": "configured"}
    observed = deployed.verdicts()["kernel.arguments"]["observed"]
    assert "amdgpu.gtt_size is not a parameter of amdgpu (amdgpu.gttsize?)" in observed


@pytest.mark.long
def test_older_value_later_is_harmful_and_taken_out_again(deployed: Lab) -> None:
    behind = "/etc/default/grub.d/zzz-old.cfg"
    deployed.root(appended("ttm.pages_limit=8126464 mine=1", behind))
    deployed.root("update-grub")
    deployed.reboot()
    assert deployed.wrong()["kernel.gtt"] == "configured"
    deployed.root(f"rm {behind}")
    assert deployed.wrong()["kernel.gtt"] == "configured"  # grub.cfg still has it
    deployed.root("update-grub")
    assert deployed.wrong() == {"kernel.gtt": "booted"}
    assert "reboot" in deployed.verdicts()["kernel.gtt"]["fix"]


@pytest.mark.parametrize("parameter", ["nomodeset", "module_blacklist=amdgpu"])
def test_a_line_that_stops_the_gpu_is_refused(deployed: Lab, parameter: str) -> None:
    deployed.root(appended(parameter, "/etc/default/grub.d/10-site.cfg"))
    planned = deployed.apuhost("plan", str(INVENTORY))
    assert planned.returncode == 1
    assert f"refused: {parameter}" in planned.stdout
    assert "10-site.cfg" in planned.stdout
