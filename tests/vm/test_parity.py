"""One snapshot, two tools: apuhost deploy and ansible-playbook leave the same host behind."""

import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.vm.conftest import BARE, CHECKOUT, SERVED, WHOLE, Lab

pytestmark = pytest.mark.long

FOLDERS = "/etc /boot /usr/local /var/lib/apuhost"

# Mode, owner and path of everything, and what links lead to; then the bytes of every file.
LISTED = (
    f"find {FOLDERS} -xdev -printf '%y %m %u:%g %p %l\\n' 2>/dev/null | sort; "
    f"find {FOLDERS} -xdev -type f -exec sha256sum {{}} + 2>/dev/null | sort -k 2"
)

EXPLAINED = {
    r"/boot/initrd\.img-.*": "cpio holds the times of its files",
    r"/boot/grub/grub\.cfg\.previous": "the menu that this boot was started by, and its time",
    r"/etc/docker/key\.json": "dockerd makes its own",
    r"/etc/ld\.so\.cache": "the order in which packages came",
    r"/var/lib/apuhost/boots.*": "what a boot read has its times",
}
"""What may differ between two deploys of one tool, too, and why."""


@dataclass(frozen=True)
class Left:
    """What a tool left: every path's mode, owner and bytes, and every verdict's status."""

    paths: Mapping[str, tuple[str, ...]]
    statuses: Mapping[str, str]


def playbook(lab: Lab, folder: Path) -> "subprocess.CompletedProcess[str]":
    """As docs/ansible.md says, over the dynamic inventory."""
    script = folder / "boxes"
    script.write_text(
        f'#!/bin/sh\nexec {sys.executable} -m apuhost.cli inventory {WHOLE} --ansible "$@"\n'
    )
    script.chmod(0o755)
    return subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(script),
         "playbooks/site.yml"],
        cwd=CHECKOUT, env={**lab.environment, "NO_COLOR": "1"}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def left(lab: Lab) -> Left:
    """What is there now."""
    paths: dict[str, tuple[str, ...]] = {}
    for line in lab.root(LISTED).splitlines():
        words = line.split(" ")
        where = next(index for index, word in enumerate(words) if word.startswith("/"))
        told = (*words[:where], *words[where + 1 :])
        paths[words[where]] = (*paths.get(words[where], ()), *told)
    statuses = {name: str(each["status"]) for name, each in lab.verdicts(WHOLE).items()}
    return Left(paths, statuses)


@pytest.fixture(scope="module")
def by_apuhost(lab: Lab, first_serving: object) -> Left:
    lab.restore(SERVED)
    return left(lab)


@pytest.fixture(scope="module")
def by_ansible(lab: Lab, by_apuhost: Left, tmp_path_factory: pytest.TempPathFactory) -> Left:
    lab.restore(BARE)
    before = lab.boot_id()
    done = playbook(lab, tmp_path_factory.mktemp("ansible"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert lab.boot_id() != before
    return left(lab)


def test_every_file_is_the_same_but_for_what_is_explained(
    by_apuhost: Left, by_ansible: Left
) -> None:
    every = by_apuhost.paths.keys() | by_ansible.paths.keys()
    differing = {
        path: (by_apuhost.paths.get(path), by_ansible.paths.get(path))
        for path in sorted(every)
        if by_apuhost.paths.get(path) != by_ansible.paths.get(path)
        and not any(re.fullmatch(pattern, path) for pattern in EXPLAINED)
    }
    assert differing == {}


def test_the_verdicts_are_the_same(by_apuhost: Left, by_ansible: Left) -> None:
    assert by_ansible.statuses == by_apuhost.statuses


def test_apuhost_finds_nothing_to_do_after_ansible(lab: Lab, by_ansible: Left) -> None:
    done = lab.deploy(WHOLE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no operations changed something" in done.stdout


def test_ansible_finds_nothing_to_do_after_apuhost(
    lab: Lab, by_ansible: Left, tmp_path: Path
) -> None:
    lab.restore(SERVED)
    done = playbook(lab, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "changed=0" in done.stdout
