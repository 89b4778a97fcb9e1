"""One rehearsal machine for the whole tier; every test starts from a snapshot of it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import testinfra
from testinfra.host import Host as TestinfraHost

from apuhost.rehearsal import (
    image,
    machine,
    making,
    requirements,
    snapshots,
    ssh,
    standin,
    standin_image,
    state,
)
from apuhost.rehearsal.state import Machine

CHECKOUT = Path(__file__).resolve().parents[2]
INVENTORY = CHECKOUT / "tests" / "vm" / "kernel" / "vm.py"
WHOLE = CHECKOUT / "inventories" / "rehearsal" / "vm.py"

REBOOT_S = 600

Site = Callable[[str], Path]
"""Makes an inventory as the rehearsal's, with other settings: Python for a dict's items."""

BARE = "bare"
DEPLOYED = "deployed"
SERVED = "served"


@dataclass(frozen=True)
class Lab:
    """The machine, the commands that work on it, and a channel to it that is not ours."""

    machine: Machine

    @property
    def environment(self) -> dict[str, str]:
        """What leads the inventory to this machine."""
        return {**os.environ, "APUHOST_REHEARSAL_STATE": str(self.machine.directory)}

    def apuhost(self, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run the command as a user would."""
        return subprocess.run(
            [sys.executable, "-m", "apuhost.cli", *words],
            cwd=CHECKOUT,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def deploy(self, inventory: Path = INVENTORY) -> "subprocess.CompletedProcess[str]":
        """Deploy to the machine, without a question."""
        return self.apuhost("deploy", "-y", str(inventory))

    def pyinfra(
        self, *options: str, inventory: str = str(INVENTORY)
    ) -> "subprocess.CompletedProcess[str]":
        """Run the field's own command, without ours."""
        return subprocess.run(
            [sys.executable, "-m", "pyinfra", *options, inventory, "deploy/all.py"],
            cwd=CHECKOUT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def verdicts(self, inventory: Path = INVENTORY) -> dict[str, dict[str, Any]]:
        """Every verdict of `apuhost verify`, by id."""
        found = self.apuhost("verify", str(inventory), "--json", "-")
        (host,) = json.loads(found.stdout)["hosts"]
        return {verdict["id"]: verdict for verdict in host["verdicts"]}

    def wrong(self, inventory: Path = INVENTORY) -> dict[str, str | None]:
        """The layer that differs first of every verdict that fails."""
        return {
            name: verdict["layer"]
            for name, verdict in self.verdicts(inventory).items()
            if verdict["status"] == "fail"
        }

    def root(self, command: str) -> str:
        """Run a shell command as root over plain ssh; it must succeed."""
        done = ssh.run(self.machine, ["sudo", "sh", "-c", command])
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout.strip()

    def host(self) -> TestinfraHost:
        """Testinfra's view of the machine, over its own ssh."""
        return testinfra.get_host(
            f"ssh://{state.HOST_NAME}", ssh_config=str(self.machine.ssh_config), sudo=True
        )

    def boot_id(self) -> str:
        """This boot's id."""
        return self.root("cat /proc/sys/kernel/random/boot_id")

    def cmdline(self) -> list[str]:
        """The running kernel line's parameters."""
        return self.root("cat /proc/cmdline").split()

    def reboot(self) -> None:
        """Reboot by hand, and wait for another boot id."""
        before = self.boot_id()
        ssh.run(self.machine, ["sudo", "systemctl", "reboot"])
        self.wait_for_another_boot(before)

    def wait_for_another_boot(self, before: str) -> None:
        """Wait for a boot id that is not this one."""
        until = time.monotonic() + REBOOT_S
        while time.monotonic() < until:
            machine.wait_for_ssh(self.machine)
            now = ssh.run(self.machine, ["cat", "/proc/sys/kernel/random/boot_id"])
            if now.returncode == 0 and now.stdout.strip() != before:
                return
            time.sleep(1)
        pytest.fail(f"no new boot within {REBOOT_S} s")

    def restore(self, snapshot: str) -> None:
        """Go back to a snapshot, whatever the test before left."""
        machine.start(self.machine)
        snapshots.restore(self.machine, snapshot)

    def power_cut(self) -> None:
        """SIGKILL to QEMU, then boot again."""
        machine.kill(self.machine)
        machine.start(self.machine)
        machine.wait_for_ssh(self.machine)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A fresh machine on the cached base image, with a snapshot of it as it first booted."""
    cache = state.cache_directory()
    requirements.ensure_packages(cache / "apt.log")
    base = image.cached(cache) or image.ensure(cache)
    replacement = standin_image.ensure(cache)
    directory = tmp_path_factory.mktemp("vm") / "machine"
    made = making.create(directory, base)
    try:
        machine.start(made)
        started = making.supply(made, replacement.directory, standin.VERSION)
        machine.wait_for_ssh(started)
        snapshots.keep(started, BARE)
        yield Lab(started)
    finally:
        making.destroy(directory)


@pytest.fixture
def bare(lab: Lab) -> Lab:
    """The machine as it first booted."""
    lab.restore(BARE)
    return lab


@pytest.fixture(scope="session")
def first_deploy(lab: Lab) -> tuple[str, "subprocess.CompletedProcess[str]"]:
    """The boot id before the first deploy, and what that deploy said; its end is a snapshot."""
    lab.restore(BARE)
    before = lab.boot_id()
    done = lab.deploy()
    snapshots.keep(lab.machine, DEPLOYED)
    return before, done


@pytest.fixture
def deployed(lab: Lab, first_deploy: object) -> Lab:
    """The machine after its first deploy and reboot."""
    lab.restore(DEPLOYED)
    return lab


@pytest.fixture(scope="session")
def first_serving(lab: Lab) -> "subprocess.CompletedProcess[str]":
    """The first deploy of every role, from the bare machine; its end is a snapshot."""
    lab.restore(BARE)
    done = lab.deploy(WHOLE)
    snapshots.keep(lab.machine, SERVED)
    return done


@pytest.fixture
def served(lab: Lab, first_serving: object) -> Lab:
    """The machine after its first deploy of every role: it answers prompts."""
    lab.restore(SERVED)
    return lab


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Makes inventories of this machine with other settings."""

    def made(others: str) -> Path:
        (tmp_path / "group_data").mkdir(exist_ok=True)
        shared = (WHOLE.parent / "group_data" / "all.py").read_text()
        (tmp_path / "group_data" / "all.py").write_text(shared)
        written = tmp_path / "site.py"
        written.write_text(
            f"import runpy\nhosts = [(name, {{**data, {others}}})\n"
            f"    for name, data in runpy.run_path({str(WHOLE)!r})['hosts']]\n"
        )
        return written

    return made
