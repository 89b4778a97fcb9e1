"""Killed at any moment, the machine boots, and the next run makes it right."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from apuhost import engines
from tests.vm.conftest import CHECKOUT, INVENTORY, Lab

pytestmark = pytest.mark.long

OPERATIONS = (
    "admit",
    "kernel | GRUB drop-in",
    "kernel | our keys in other GRUB files",
    "kernel | our keys in modprobe.d",
    "kernel | initramfs",
    "kernel | grub.cfg",
)
PARAMETERS = {"amd_iommu=off", "ttm.pages_limit=12582912", "amdgpu.lockup_timeout=10000"}
FLAG = "/run/apuhost-test-reached"


def kill_at(lab: Lab, operation: str, delay_s: float, inventory: Path = INVENTORY) -> None:
    """Start a deploy and SIGKILL it a moment after this operation began."""
    with subprocess.Popen(
        engines.pyinfra(inventory, ["rehearsal"]),
        cwd=CHECKOUT,
        env={**lab.environment, "PYINFRA_PROGRESS": "off"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.strip() == f"--> Starting operation: {operation}":
                time.sleep(delay_s)
                os.killpg(process.pid, signal.SIGKILL)
                return
    pytest.fail(f"{operation} never began")


def menu_is_whole(lab: Lab) -> None:
    lab.root("grub-script-check /boot/grub/grub.cfg && grep -q '/boot/vmlinuz' /boot/grub/grub.cfg")


def test_a_run_killed_at_every_operation_then_repeated(bare: Lab) -> None:
    for operation in OPERATIONS:
        for delay_s in (0.0, 1.5):
            kill_at(bare, operation, delay_s)
            menu_is_whole(bare)
    done = bare.deploy()
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(bare.cmdline()) >= PARAMETERS
    assert bare.wrong() == {}


def test_power_cut_between_drop_in_and_grub_cfg(bare: Lab) -> None:
    kill_at(bare, "kernel | our keys in other GRUB files", 0.0)
    bare.root("test -e /etc/default/grub.d/zz-apuhost.cfg")
    bare.power_cut()
    menu_is_whole(bare)
    done = bare.deploy()
    assert done.returncode == 0, done.stdout + done.stderr
    assert bare.wrong() == {}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_power_cut_inside_the_rename_of_grub_cfg(bare: Lab, moment: str) -> None:
    """A wrapper of mv holds still around the rename of grub.cfg; the power goes there."""
    renames = '/bin/mv "$@"; ' if moment == "after" else ""
    bare.root(
        "cat > /usr/local/sbin/mv <<'END'\n#!/bin/sh\n"
        'case "$*" in */grub/grub.cfg) '
        f'{renames}touch {FLAG}; sleep 600;; esac\nexec /bin/mv "$@"\nEND\n'
        "chmod 755 /usr/local/sbin/mv"
    )
    run = threading.Thread(target=bare.deploy, daemon=True)
    run.start()
    until = time.monotonic() + 120
    while "reached" not in bare.root(f"if test -e {FLAG}; then echo reached; fi"):
        assert time.monotonic() < until, "the rename was never reached"
        time.sleep(0.5)
    bare.power_cut()
    menu_is_whole(bare)
    bare.root("rm -f /usr/local/sbin/mv")
    done = bare.deploy()
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(bare.cmdline()) >= PARAMETERS
    assert bare.wrong() == {}


def test_two_runs_at_once_end_right(bare: Lab) -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "apuhost.cli", "deploy", "-y", str(INVENTORY)],
            cwd=CHECKOUT,
            env=bare.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    statuses = [run.wait(timeout=600) for run in runs]
    menu_is_whole(bare)
    assert 0 in statuses  # the other may have been told that the menu was changed meanwhile
    done = bare.deploy()
    assert done.returncode == 0, done.stdout + done.stderr
    assert bare.root("ls /etc/default/grub.d") == "zz-apuhost.cfg"
    assert bare.wrong() == {}
