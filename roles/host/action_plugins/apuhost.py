"""Ansible takes apuhost's steps: one task, one step, over Ansible's own connection and become.

What is due, and the scripts that do it, come from apuhost.steps, as with pyinfra. A host needs no
Python for it. What a role's variables may be is judged before.
"""

from __future__ import annotations

import base64
import json
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible import constants
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

CHECKOUT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(CHECKOUT / "src"))

try:
    from apuhost.changes.docker import comes_up
    from apuhost.changes.host import IN_CONTAINERS
    from apuhost.changes.scripts import BOOT_ID
    from apuhost.derived import as_data
    from apuhost.errors import ApuhostError
    from apuhost.nearest import hint
    from apuhost.probes.secrets import without_logins
    from apuhost.report.ansible import DERIVED
    from apuhost.round_trip import DECIDING
    from apuhost.settings import resolve, variables
    from apuhost.steps import NextBoot, Script, StepFailed, kept
    from apuhost.steps.known import read
    from apuhost.steps.order import steps
    from apuhost.steps.reboot import STILL_UP, boot_id_in, did_not_come_back
except (ImportError, SyntaxError) as error:
    LACKING = (
        f"{sys.executable} cannot run apuhost ({error}): use {CHECKOUT}/.venv/bin/ansible-playbook "
        "(`make install` there makes it), or a Python of at least 3.11 with `pip install pydantic`"
    )
else:
    LACKING = ""

if TYPE_CHECKING:
    from apuhost.changes import FileChange
    from apuhost.settings import Settings
    from apuhost.steps import Known, Step

# The first line of standard input is the script, what follows is the script's own: so it needs no
# quoting, however many shells it passes, and shows in no process list but the host's own.
COMMAND = """sh -c 'IFS= read -r line; exec sh -c "$(printf %s "$line" | base64 -d)" apuhost'"""

NOT_ROOT_STATUS = 77
NOT_ROOT = "its scripts run as root: set become: true in the play, or log in as root"
FOREIGN = "apuhost_foreign_variables"
"""Names that begin like a role's variables, and are somebody else's."""

INTERVAL_S = 2
IMPATIENT = " -o ServerAliveInterval=5 -o ServerAliveCountMax=2 -o ConnectTimeout=5"
"""For ssh while a host reboots: a connection that was cut in silence ends."""


class Failed(Exception):
    """The task failed: its one line."""


class Host:
    """The host of a task, as steps see it."""

    def __init__(self, action: ActionModule, name: str, data: Mapping[str, Any]) -> None:
        self._action, self._name, self._data = action, name, data
        self._known: Known | None = None
        self.notes: list[str] = []
        self.told: dict[str, Any] = {}
        # Ansible's own folder of this run, which it removes; each task is a process of its own.
        file = f"apuhost-{sha256(name.encode()).hexdigest()[:16]}.json"
        self._file = Path(constants.DEFAULT_LOCAL_TMP) / file

    @property
    def local(self) -> bool:
        """Whether it is the machine that Ansible runs on."""
        return self._action.transport == "local"

    def known(self) -> Known:
        """What is true now; only what was forgotten is read again."""
        if self._known is None:
            readings = kept.load(self._file)
            self._known = read(self._name, self._data, readings, self._ask)
            kept.save(self._file, readings)
            self.told = {DERIVED: as_data(self._known.derived)}
        return self._known

    def output(self, script: str) -> str:
        """What a script prints, exactly: a login's own start-up file may print lines before it."""
        done = self._answered(f"echo; {{ {script}\n}} | base64 -w0")
        return base64.b64decode(done.rpartition("\n")[2]).decode("utf-8", "surrogateescape")

    def nothing_due(self, why: str) -> None:
        """Told as the task's message."""
        self.notes.append(why)

    def warn(self, sentence: str) -> None:
        """Shown in any case."""
        Display().warning(f"{self._name}: {sentence}")

    def forget(self, names: Iterable[str] = DECIDING if not LACKING else ()) -> None:
        """What these probes read may be changed now."""
        gone = set(names)
        self._known = None
        readings = kept.load(self._file)
        kept.save(self._file, {name: readings[name] for name in readings if name not in gone})

    def _ask(self, script: str) -> str:
        asked = f'[ "$(id -u)" = 0 ] || exit {NOT_ROOT_STATUS}\n{script}'
        return self._answered(asked)

    def _answered(self, script: str) -> str:
        """What a script prints that ends well, unless it could not be run at all."""
        done = self._action.as_root(Script(script))
        if done["rc"] == NOT_ROOT_STATUS:
            raise StepFailed(NOT_ROOT)
        if done["rc"] != 0:
            raise StepFailed(f"nothing was read: {last_words(done)}")
        return str(done["stdout"])


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """`step: LABEL` takes a step; `variables: ROLE` judges the variables that begin like a role."""

    _VALID_ARGS = frozenset(("step", "variables"))

    @property
    def transport(self) -> str:
        """How the host is reached, by the name of Ansible's connection plugin."""
        return str(self._connection.transport)

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Do what the task says."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        try:
            return result | self._done(task_vars or {})
        except Failed as failure:  # returned, since Ansible tells of an exception twice
            return result | {"failed": True, "msg": str(failure)}

    def _done(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if LACKING:
            raise Failed(LACKING)
        known = set(variables())
        data = {key: self._plain(given[key]) for key in given if key in known}
        name = str(given["inventory_hostname"])
        name = "@local" if (name, self.transport) == ("localhost", "local") else name
        host = Host(self, name, data)
        settings, problems = resolve(name, data)
        wrong = [problem.sentence for problem in problems]
        if role := self._task.args.get("variables"):
            wrong += self._unknown(role, given)
            host.forget()  # tasks that are not ours may have changed the host since
        if settings is None or wrong:
            raise Failed("; ".join(wrong))
        return {} if role else self._step(str(self._task.args["step"]), settings, host)

    def _unknown(self, role: str, given: Mapping[str, Any]) -> list[str]:
        known = variables()
        others = self._plain(given.get(FOREIGN, []))
        return [
            f"{key} is no variable of the role {role}{hint(key, known)}; "
            f"if it is another one's, name it in {FOREIGN}"
            for key in given
            if key.startswith(f"{role}_") and key not in known and key not in others
        ]

    def _plain(self, value: object) -> Any:  # noqa: ANN401
        """A variable's value in JSON's types, without what Ansible ties to it."""
        return json.loads(json.dumps(self._templar.template(value), default=str))

    def _step(self, label: str, settings: Settings, host: Host) -> dict[str, Any]:
        found = {each: (part, step) for each, part, step in steps()}
        if label not in found:
            raise Failed(f"apuhost has no step {label!r}{hint(label, found)}")
        part, step = found[label]
        if not part.of(settings):
            return {"skipped": True, "skip_reason": f"the host does not have the role {part.role}"}
        try:
            return self._taken(part.role, step, host)
        except ApuhostError as failure:
            raise Failed(str(failure)) from failure

    def _taken(self, role: str, step: Step, host: Host) -> dict[str, Any]:
        if self._task.check_mode and role in IN_CONTAINERS and comes_up(*host.known()[1:]):
            return {"msg": "what changes here is seen when Docker runs"}
        changed, diffs = False, []
        for order in step.work(host):
            changed = True
            change = order.change if isinstance(order, Script) else None
            diffs += [difference(change)] if change else []
            if not self._task.check_mode:
                host.forget(step.changing)
                self._do(order)
            elif change is None:
                break  # what comes then depends on what this would do
        shown = {"diff": diffs} if self._task.diff and diffs else {}
        noted = {"msg": "; ".join(host.notes)} if host.notes else {}
        return {"changed": changed, "ansible_facts": host.told, **noted, **shown}

    def _do(self, order: Script | NextBoot) -> None:
        if isinstance(order, NextBoot):
            self._until_back(order)
            return
        done = self.as_root(order)
        if done["rc"] != 0:
            raise StepFailed(last_words(done))

    def as_root(self, script: Script) -> dict[str, Any]:
        """Run a script on the host: rc, stdout and stderr."""
        text = f"set -- {shlex.join(script.arguments)}\n{script.text}"
        line = base64.b64encode(text.encode("utf-8", "surrogateescape"))
        data = line + b"\n" + script.stdin.encode("utf-8", "surrogateescape")
        done: dict[str, Any] = self._low_level_execute_command(COMMAND, in_data=data)
        return done

    def _until_back(self, order: NextBoot) -> None:
        with self._impatient():
            seen, until = None, time.monotonic() + order.seconds
            while time.monotonic() < until:
                time.sleep(INTERVAL_S)
                seen = self._boot_id()
                if seen not in (None, order.boot_id):
                    return
        raise StepFailed(STILL_UP if seen else did_not_come_back(order.seconds))

    @contextmanager
    def _impatient(self) -> Iterator[None]:
        """Connections that end after ten seconds of silence; later tasks get one of their own."""
        given = self._connection.get_option("ssh_extra_args") if self.transport == "ssh" else None
        try:
            if self.transport == "ssh":
                self._connection.set_option("ssh_extra_args", (given or "") + IMPATIENT)
            yield
        finally:
            if self.transport == "ssh":
                self._connection.set_option("ssh_extra_args", given)
                self._connection.reset()

    def _boot_id(self) -> str | None:
        """The boot id over a new connection; None while the host does not answer."""
        try:
            self._connection.reset()
            done = self._low_level_execute_command(f"cat {BOOT_ID}", sudoable=False)
        except AnsibleConnectionFailure:
            return None
        return boot_id_in(str(done["stdout"])) if done["rc"] == 0 else None


def last_words(done: Mapping[str, Any]) -> str:
    """What a script that failed said last."""
    said = [line for line in done["stderr"].splitlines() if line.strip()]
    said = said or done["stdout"].splitlines()
    return "; ".join(said[-3:]) or f"a script ended with exit {done['rc']}"


def difference(change: FileChange) -> dict[str, str]:
    """A file before and after, as Ansible shows it under --diff: without logins."""
    return {
        "before": without_logins(change.before or ""),
        "after": without_logins(change.after),
        "before_header": change.path,
        "after_header": change.path,
    }
