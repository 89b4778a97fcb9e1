"""ansible-playbook as another site runs it: a repository of its own that names our roles."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from apuhost.roles import CHECKOUT
from tests.support.sshd import Sshd

PLUGIN = CHECKOUT / "roles" / "host" / "action_plugins" / "apuhost.py"
PROGRAM = Path(sys.executable).with_name("ansible-playbook")

_RECAP = re.compile(r"^(\S+) +: ok=(\d+) +changed=(\d+) +unreachable=(\d+) +failed=(\d+)", re.M)


@dataclass(frozen=True)
class Recap:
    """The last lines of a run, of one host."""

    changed: int
    unreachable: int
    failed: int


@dataclass(frozen=True)
class Played:
    """A run that has ended."""

    status: int
    said: str

    def of(self, host: str) -> Recap:
        """What its last lines say of a host."""
        found = {name: counts for name, _, *counts in _RECAP.findall(self.said)}
        return Recap(*map(int, found[host]))


@dataclass(frozen=True)
class Site:
    """A repository that has apuhost's roles beside its own."""

    folder: Path
    box: Sshd

    def write(self, hosts: Mapping[str, Mapping[str, object]], **files: str) -> None:
        """Its inventory and its files; `site.yml` takes apuhost's playbook."""
        way = {
            "ansible_host": "127.0.0.1",
            "ansible_port": self.box.port,
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self.box.folder / "client"),
            "ansible_ssh_common_args": (
                f"-o 'UserKnownHostsFile=\"{self.box.folder}/known hosts\"'"
                " -o StrictHostKeyChecking=yes"
            ),
            # The steps need no Python on a host, so whichever one it has does not matter.
            "ansible_python_interpreter": "/nonexistent/python",
        }
        inventory = {"apuhost": {"hosts": dict(hosts), "vars": way}}
        given = {
            "hosts.yml": yaml.safe_dump(json.loads(json.dumps(inventory))),
            "ansible.cfg": f"[defaults]\nroles_path = {CHECKOUT}/roles\ninventory = hosts.yml\n",
            "site.yml": f"- import_playbook: {CHECKOUT}/playbooks/site.yml\n",
            **{f"{name}.yml": text for name, text in files.items()},
        }
        for name, text in given.items():
            (self.folder / name).write_text(text)

    def start(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        """Begin a run, in a session of its own."""
        return subprocess.Popen(
            [PROGRAM, *words],
            cwd=self.folder,
            env={**os.environ, "HOME": str(self.folder), "LC_ALL": "C.UTF-8", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def play(self, *words: str, **environment: str) -> Played:
        """Run to the end."""
        with self.start(*words, **environment) as process:
            said, _ = process.communicate(timeout=600)
        return Played(process.returncode, said)


def plugin() -> Any:  # noqa: ANN401  (it is no module of a package)
    """The action plugin that runs apuhost's steps."""
    spec = importlib.util.spec_from_file_location("apuhost_action", PLUGIN)
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
