"""A machine that was configured by hand is adopted as it is, and can be given back."""

from collections.abc import Iterator

import pytest

from apuhost.rehearsal import snapshots
from tests.vm.conftest import INVENTORY, Lab

pytestmark = pytest.mark.long

BY_HAND = "amd_iommu=off ttm.pages_limit=12582912 amdgpu.lockup_timeout=10000"
SNAPSHOT = "byhand"


@pytest.fixture(scope="module")
def booted_by_hand(lab: Lab) -> Lab:
    """GRUB_CMDLINE_LINUX_DEFAULT with our values among the operator's own, update-grub, reboot."""
    lab.restore("bare")
    lab.root(
        "sed -i 's/^GRUB_CMDLINE_LINUX_DEFAULT=.*/"
        f'GRUB_CMDLINE_LINUX_DEFAULT="quiet {BY_HAND} mitigations=auto"/\' /etc/default/grub'
    )
    lab.root("update-grub")
    lab.reboot()
    snapshots.keep(lab.machine, SNAPSHOT)
    return lab


@pytest.fixture
def by_hand(booted_by_hand: Lab) -> Iterator[Lab]:
    """That machine, as it came up."""
    booted_by_hand.restore(SNAPSHOT)
    yield booted_by_hand


def test_it_verifies_as_it_is(by_hand: Lab) -> None:
    assert by_hand.wrong() == {}


def test_its_plan_moves_the_parameters_and_asks_for_no_reboot(by_hand: Lab) -> None:
    planned = by_hand.apuhost("plan", str(INVENTORY)).stdout
    assert "no reboot" in planned
    assert "/etc/default/grub " in planned
    assert "grub.before-apuhost" in planned
    assert f'- GRUB_CMDLINE_LINUX_DEFAULT="quiet {BY_HAND} mitigations=auto"' in planned
    assert '+ GRUB_CMDLINE_LINUX_DEFAULT="quiet mitigations=auto"' in planned


def test_deployed_without_a_reboot_and_given_back(by_hand: Lab) -> None:
    boot_id, before = by_hand.boot_id(), by_hand.root("cat /etc/default/grub")
    menu = by_hand.root("grep -P '^\\s*linux\\s' /boot/grub/grub.cfg | head -n 1")
    done = by_hand.deploy()
    assert done.returncode == 0, done.stdout + done.stderr
    assert by_hand.boot_id() == boot_id
    assert "nothing to change" in by_hand.apuhost("plan", str(INVENTORY)).stdout
    main = by_hand.host().file("/etc/default/grub").content_string
    assert 'GRUB_CMDLINE_LINUX_DEFAULT="quiet mitigations=auto"' in main
    # The way back of docs/way-back.md.
    by_hand.root("rm /etc/default/grub.d/zz-apuhost.cfg")
    by_hand.root("mv /etc/default/grub.before-apuhost /etc/default/grub")
    by_hand.root("update-grub")
    assert by_hand.root("cat /etc/default/grub") == before
    assert by_hand.root("grep -P '^\\s*linux\\s' /boot/grub/grub.cfg | head -n 1") == menu


def test_module_options_move_to_the_kernel_line_and_out_of_the_initramfs(by_hand: Lab) -> None:
    by_hand.root(
        "echo 'options ttm pages_limit=8126464 page_pool_size=1000' > /etc/modprobe.d/gpu.conf"
    )
    planned = by_hand.apuhost("plan", str(INVENTORY)).stdout
    assert "/etc/modprobe.d/gpu.conf" in planned
    assert "initramfs" in planned
    assert "reboot once" in planned
    done = by_hand.deploy()
    assert done.returncode == 0, done.stdout + done.stderr
    kept = by_hand.root("cat /etc/modprobe.d/gpu.conf")
    assert kept == "options ttm page_pool_size=1000"
    inside = by_hand.root(
        "lsinitramfs -l /boot/initrd.img-$(uname -r) | grep -c modprobe.d/gpu.conf"
    )
    assert inside == "1"
    assert by_hand.wrong() == {}
    assert "nothing to change" in by_hand.apuhost("plan", str(INVENTORY)).stdout


def test_a_file_that_only_a_shell_understands_is_named_not_edited(by_hand: Lab) -> None:
    path = "/etc/default/grub.d/50-site.cfg"
    text = 'if true; then GRUB_CMDLINE_LINUX_DEFAULT="quiet ttm.pages_limit=1"; fi'
    by_hand.root(f"printf '%s\\n' '{text}' > {path}")
    planned = by_hand.apuhost("plan", str(INVENTORY)).stdout
    assert f"note: {path} sets ttm.pages_limit and is not edited" in planned
    assert by_hand.deploy().returncode == 0
    assert by_hand.root(f"cat {path}") == text
    menu = by_hand.root("grep -P '^\\s*linux\\s' /boot/grub/grub.cfg | head -n 1").split()
    assert [word for word in menu if word.startswith("ttm.")][-1] == "ttm.pages_limit=12582912"
