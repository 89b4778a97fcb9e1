"""Steps: what a deploy does on a host, one after the other, whoever executes them.

A step asks the host what is due, yields the scripts that do it, and looks whether they did. deploy/
has pyinfra execute them, roles/host/action_plugins has Ansible.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from apuhost.changes import FileChange
from apuhost.derived import Derived
from apuhost.errors import ApuhostError
from apuhost.host_facts import HostFacts
from apuhost.round_trip import DECIDING
from apuhost.settings import Settings


class StepFailed(ApuhostError):
    """A step did not come to what it was for, or must not be taken: the host's run ends with it."""


class Known(NamedTuple):
    """Everything that decides what is done on a host."""

    settings: Settings
    derived: Derived
    facts: HostFacts


@dataclass(frozen=True)
class Script:
    """A shell script for root. `stdin` never shows in a process list.

    One that is `told` takes minutes and says how far it is. `change` is the file that it writes.
    """

    text: str
    arguments: tuple[str, ...] = ()
    stdin: str = ""
    told: bool = False
    change: FileChange | None = None


@dataclass(frozen=True)
class NextBoot:
    """Wait, for so many seconds at most, until the host answers from another boot than this."""

    boot_id: str
    seconds: int


class Target(Protocol):
    """The host that a step is taken on."""

    @property
    def local(self) -> bool:
        """Whether it is this very machine, which nobody reboots under the operator."""

    def known(self) -> Known:
        """What is true now: what a script of this run may have changed is read again."""

    def output(self, script: str) -> str:
        """What a script that changes nothing prints, exactly."""

    def nothing_due(self, why: str) -> None:
        """Note why there is nothing to do."""

    def warn(self, sentence: str) -> None:
        """Tell the operator of something that is left to do by hand."""


Work = Generator[Script | NextBoot, None, None]


@dataclass(frozen=True)
class Step:
    """One step by its name; `changing` are the probes whose answers its scripts may change.

    A script that fails ends the step. So does an ApuhostError, whose sentence is then told.
    """

    name: str
    work: Callable[[Target], Work]
    changing: tuple[str, ...] = DECIDING


def script(text: str, *arguments: str, stdin: str = "") -> Script:
    """A script with its arguments."""
    return Script(text, arguments, stdin)


def told(text: str, *arguments: str, stdin: str = "") -> Script:
    """The same for a script of minutes."""
    return replace(script(text, *arguments, stdin=stdin), told=True)
