"""ansible-playbook over a real sshd: what it leaves behind is what pyinfra leaves behind.

The box has one role, boot; a virtual machine has them all.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support import boot_box, playing
from tests.support.playing import Played, Site
from tests.support.sshd import LACKING, Sshd

from apuhost.probes.boot import REBOOTED_FOR
from apuhost.roles import CHECKOUT
from apuhost.steps import Script, StepFailed

pytestmark = pytest.mark.skipif(bool(LACKING), reason="; ".join(LACKING))

ONLY = ("--tags", "boot")
"""Of the other roles, which the box does not have, one test tries the tasks."""

BOX = {"host_roles": ["boot"], "boot_keep": 5}
PROGRAM_ON_BOX = "/usr/local/lib/apuhost/boot"
UNIT = "/etc/systemd/system/apuhost-boot.service"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Sshd]:
    """A bare one."""
    with boot_box.bare(tmp_path / "box") as found:
        yield found


@pytest.fixture
def site(tmp_path: Path, box: Sshd) -> Site:
    (tmp_path / "site").mkdir()
    found = Site(tmp_path / "site", box)
    found.write({"box": BOX})
    return found


def applied(site: Site, *words: str) -> Played:
    done = site.play("site.yml", *(words or ONLY))
    assert (done.status, done.of("box").failed) == (0, 0), done.said
    return done


def pyinfra(box: Sshd, folder: Path, *options: str) -> list[str]:
    """What pyinfra does over the same box: its operations that change something."""
    inventory = folder / "boxes.py"
    inventory.write_text(f"hosts = {[('box', {**box.data, **BOX})]!r}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pyinfra", "--json", *options, str(inventory), "deploy/all.py"],
        cwd=CHECKOUT, env={**os.environ, "PYINFRA_PROGRESS": "off"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    if "--dry" in options:
        return [each["name"] for each in found["plan"] if each["hosts_with_change"]]
    return [each["name"] for each in found["results"]["operations"] if each["success"]]


def test_a_check_of_a_bare_host_tells_what_would_change_and_changes_nothing(
    site: Site, box: Sshd
) -> None:
    done = site.play("site.yml", "--check", "--diff")
    assert done.status == 0, done.said
    assert done.of("box").changed == len(pyinfra(box, site.folder, "--dry"))
    assert f"+++ after: {UNIT}" in done.said
    assert "+Description=What apuhost reads of this boot is saved" in done.said
    assert not box.path(PROGRAM_ON_BOX).exists()
    assert not box.path(UNIT).exists()


def test_what_was_applied_changes_nothing_again_for_either_tool(site: Site, box: Sshd) -> None:
    every_role = applied(site, "--forks", "1")
    assert every_role.of("box").changed == 5  # program, unit, timer; both enabled
    assert "keep=5\n" in box.path(PROGRAM_ON_BOX).read_text()
    assert applied(site).of("box").changed == 0
    assert pyinfra(box, site.folder, "--dry") == []


def test_what_pyinfra_applied_changes_nothing_for_ansible(site: Site, box: Sshd) -> None:
    assert len(pyinfra(box, site.folder, "-y")) == 5
    assert applied(site).of("box").changed == 0
    box.path(UNIT).write_text("[Unit]\n")
    done = applied(site)
    assert done.of("box").changed == 2  # written, and run anew


def test_a_run_that_was_killed_is_taken_up(site: Site, box: Sshd) -> None:
    with site.start("site.yml", *ONLY) as process:
        for line in process.stdout or ():
            if line.startswith("changed: "):
                os.killpg(process.pid, signal.SIGKILL)
                break
    assert box.path(PROGRAM_ON_BOX).exists()
    assert 0 < applied(site).of("box").changed < 5
    assert applied(site).of("box").changed == 0


TWICE = """
- hosts: apuhost
  gather_facts: false
  roles: [boot, boot]
  tasks:
    - ansible.builtin.include_role:
        name: boot
    - ansible.builtin.debug:
        msg: "reckons with {{ ansible_facts.apuhost_derived.mem_total_kib }} KiB"
"""


def test_a_role_that_stands_twice_changes_nothing_the_second_time(site: Site) -> None:
    site.write({"box": BOX}, twice=TWICE)
    done = site.play("twice.yml")
    assert (done.status, done.of("box").changed) == (0, 5), done.said
    assert re.search(r"reckons with [0-9]+ KiB", done.said)


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        pytest.param(
            {"boot_kep": 5}, "boot_kep is no variable of the role boot (boot_keep?)", id="misspelt"
        ),
        pytest.param({"boot_keep": 1}, "boot_keep is 1: Boots whose facts stay", id="impossible"),
        pytest.param(
            {"host_roles": ["boot", "kernel"]}, "refused: no AMD GPU on the PCI bus", id="refused"
        ),
    ],
)
def test_what_cannot_be_is_one_line_and_nothing_is_touched(
    site: Site, box: Sshd, variables: dict[str, object], told: str
) -> None:
    site.write({"box": {**BOX, **variables}})
    done = site.play("site.yml", *ONLY)
    assert done.of("box").failed == 1
    (line,) = [line for line in done.said.splitlines() if line.startswith("fatal: ")]
    assert told in line
    assert done.of("box").changed == 0
    assert not box.path(PROGRAM_ON_BOX).exists()


def test_a_variable_of_another_role_is_passed_over_where_it_is_named(site: Site) -> None:
    site.write({"box": {**BOX, "boot_menu": 1, "apuhost_foreign_variables": ["boot_menu"]}})
    applied(site)


# Only a kernel role gives a reason to reboot, and the box has none: it is given one, as long as its
# boot id is the first. The box hangs, its connections end, and then it answers as another boot.
REASON = f"""
import sys
sys.path.insert(0, {str(CHECKOUT / "src")!r})
from apuhost.changes import reboot
reboot.reasons = lambda _, facts: ("a try",) if facts.boot.boot_id.startswith("0") else ()
"""
REBOOT = """#!/bin/sh
[ "$1" = reboot ] || exec /usr/local/sbin/systemctl-stub "$@"
kill -STOP {sshd}
kill $(ps -o pid= --ppid {sshd})
sleep 3
echo {boot_id} >/run/boot_id
kill -CONT {sshd}
"""
OLD, NEW = ("0" * 8 + "-0000-4000-8000-" + "0" * 12, "1" * 8 + "-0000-4000-8000-" + "0" * 12)


def rebooting(site: Site, box: Sshd, into: str) -> Played:
    (site.folder / "patched").mkdir()
    (site.folder / "patched" / "sitecustomize.py").write_text(REASON)
    box.path("/run/boot_id").write_text(f"{OLD}\n")
    box.sh("mount --bind /run/boot_id /proc/sys/kernel/random/boot_id")
    programs = box.path("/usr/local/sbin")
    (programs / "systemctl").rename(programs / "systemctl-stub")
    text = REBOOT.format(sshd=box.process.pid, boot_id=into)
    for name, script in {"systemctl": text, "grub-script-check": "#!/bin/sh\n"}.items():
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    site.write({"box": {**BOX, "host_reboot_timeout_s": 30 if into == NEW else 10}})
    patched = str(site.folder / "patched")
    return site.play("site.yml", "--tags", "reboot", PYTHONPATH=patched)


def greets(box: Sshd) -> None:
    """Bash reads .bashrc for what sshd runs, too."""
    box.sh("sed -i 's|^root:.*|root:x:0:0:root:/var/lib:/bin/bash|' /etc/passwd")
    box.path("/var/lib/.bashrc").write_text("echo Welcome\n")


def test_a_reboot_is_waited_for_and_proved(site: Site, box: Sshd) -> None:
    done = rebooting(site, box, NEW)
    assert (done.status, done.of("box").changed) == (0, 1), done.said
    assert box.path(REBOOTED_FOR).read_text() == "a try\n"


def test_a_host_that_is_still_in_its_old_boot_fails(site: Site, box: Sshd) -> None:
    greets(box)
    done = rebooting(site, box, OLD)
    assert done.of("box").failed == 1
    assert "is still in its old boot" in done.said
    assert not box.path(REBOOTED_FOR).exists()


@dataclass(frozen=True)
class Action:
    """Runs scripts here, behind what a login prints."""

    login: str

    def as_root(self, script: Script) -> dict[str, Any]:
        """As Ansible gives it."""
        words = ["sh", "-c", f"{self.login}\n{script.text}"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return {"rc": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


class Connection:
    """As Ansible has it: its options, and how often it began anew."""

    def __init__(self) -> None:
        self.transport, self.options, self.resets = "ssh", {"ssh_extra_args": "-C"}, 0

    def get_option(self, name: str) -> str:
        """One that was set."""
        return self.options[name]

    def set_option(self, name: str, value: str) -> None:
        """For the next connection."""
        self.options[name] = value

    def reset(self) -> None:
        """The next one is another."""
        self.resets += 1


def test_after_a_reboot_tasks_have_a_patient_connection_of_their_own() -> None:
    action = playing.plugin().ActionModule.__new__(playing.plugin().ActionModule)
    action._connection = connection = Connection()
    with action._impatient():
        assert "ServerAliveInterval=5" in connection.options["ssh_extra_args"]
    assert (connection.options, connection.resets) == ({"ssh_extra_args": "-C"}, 1)


def host_of_a_task(login: str) -> Any:  # noqa: ANN401
    return playing.plugin().Host(Action(login), "box", {})


def test_what_a_script_prints_is_told_exactly_behind_a_login_that_greets() -> None:
    said = host_of_a_task("echo Welcome; printf 'no end'").output(r"printf '\377a\n\n'; exit 3")
    assert said == "\udcffa\n\n"


def test_why_nothing_is_read_is_told() -> None:
    login = "echo 'sudo: a password is required' >&2; exit 1"
    host = host_of_a_task(login)
    for ask in (lambda: host.output("true"), host.known):
        with pytest.raises(StepFailed, match="nothing was read: sudo: a password"):
            ask()


def test_a_host_that_does_not_answer_does_not_stop_the_others(site: Site) -> None:
    site.write({"box": BOX, "gone": {**BOX, "ansible_port": 1}})
    done = site.play("site.yml", *ONLY)
    assert done.of("gone").unreachable == 1
    assert done.of("box").changed == 5


def test_a_python_that_lacks_apuhosts_packages_is_told_what_to_do(site: Site) -> None:
    (site.folder / "lacking").mkdir()
    (site.folder / "lacking" / "pydantic.py").write_text("raise ImportError('no pydantic')\n")
    done = site.play("site.yml", *ONLY, PYTHONPATH=str(site.folder / "lacking"))
    assert f"use {CHECKOUT}/.venv/bin/ansible-playbook" in done.said
    assert "no pydantic" in done.said


def test_the_inventory_of_apuhost_is_one_of_ansibles(site: Site, box: Sshd) -> None:
    inventory = site.folder / "boxes.py"
    inventory.write_text(f"hosts = {[('box', {**box.data, **BOX})]!r}\n")
    program = site.folder / "boxes"
    asked = f"{sys.executable} -m apuhost.cli inventory {inventory} --ansible"
    program.write_text(f'#!/bin/sh\nexec {asked} "$@"\n')
    program.chmod(0o755)
    done = site.play("-i", "boxes", "site.yml", *ONLY)
    assert (done.status, done.of("box").changed) == (0, 5), done.said


@pytest.mark.parametrize(
    "words",
    [("ansible-lint", "roles", "playbooks"), ("yamllint", "--strict", ".")],
    ids=lambda w: w[0],
)
def test_the_roles_are_clean(words: tuple[str, ...], tmp_path: Path) -> None:
    program = playing.PROGRAM.with_name(words[0])
    path = f"{program.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [program, *words[1:]], cwd=CHECKOUT, check=False,
        env={**os.environ, "HOME": str(tmp_path), "PATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
