"""Changes: what a deploy would do to a host, worked out from its facts alone. Pure.

`apuhost plan` prints them and the steps make them, so that both come from the same place.
"""

from dataclasses import dataclass
from hashlib import sha256

BACKUP = ".before-apuhost"
"""An operator's file is kept beside itself under this ending before apuhost first changes it."""


NOT_THERE = "-"
"""In the place of a file's digest."""

FIRMWARE = "the GPU's firmware"
"""An action that the reboot step looks for: only a boot loads new firmware."""


@dataclass(frozen=True)
class FileChange:
    """A file as it is (None: not there) and as it will be; `why` in words for the plan.

    `operators` tells files that are not ours: their first state is kept beside them. Of a file that
    is not read whole, `digest` is the SHA-256 that it has instead of `before`. `purpose` says what
    a long file is for, since a plan shows its lines only when asked.
    """

    path: str
    before: str | None
    after: str
    why: str
    operators: bool
    digest: str = ""
    purpose: str = ""

    @property
    def found(self) -> str:
        """The SHA-256 of the file as it is, or NOT_THERE."""
        if self.before is not None:
            return sha256(as_bytes(self.before)).hexdigest()
        return self.digest or NOT_THERE


@dataclass(frozen=True)
class Action:
    """Something done that is no file of its own: to what, how, and every reason for it."""

    what: str
    how: str
    why: tuple[str, ...]


@dataclass(frozen=True)
class RolePlan:
    """What a deploy would do for one role, in the order of doing; what it leaves, in words."""

    role: str
    files: tuple[FileChange, ...] = ()
    actions: tuple[Action, ...] = ()
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether this role has nothing to do."""
        return not (self.files or self.actions)


@dataclass(frozen=True)
class HostPlan:
    """Everything that a deploy would do to one host; `reboot` says why, once for all roles."""

    roles: tuple[RolePlan, ...] = ()
    reboot: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the host is already as it should be."""
        return not self.reboot and all(role.empty for role in self.roles)

    @property
    def files(self) -> tuple[FileChange, ...]:
        """Every file that would be written."""
        return tuple(change for role in self.roles for change in role.files)

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything an operator should know before saying yes."""
        return tuple(note for role in self.roles for note in role.notes)

    def why(self, what: str) -> tuple[str, ...]:
        """The reasons for an action; none when it is not due."""
        actions = (action for role in self.roles for action in role.actions)
        return next((action.why for action in actions if action.what == what), ())


def due(what: str, how: str, why: tuple[str, ...]) -> tuple[Action, ...]:
    """An action with its reasons; without a reason there is none."""
    return (Action(what, how, why),) if why else ()


def as_bytes(text: str) -> bytes:
    """A file's text as the bytes that it has on the host."""
    return text.encode("utf-8", errors="surrogateescape")


def owned(path: str, before: str | None, after: str, purpose: str = "") -> tuple[FileChange, ...]:
    """The change of a file that is ours alone; none when it is as it should be."""
    why = "new" if before is None else "brought up to date"
    if before == after:
        return ()
    return (FileChange(path, before, after, why, operators=False, purpose=purpose),)
