"""Changes: what a deploy would do to a host, worked out from its facts alone. Pure.

`apuhost plan` prints them and deploy/ makes them, so that both come from the same place.
"""

from dataclasses import dataclass

BACKUP = ".before-apuhost"
"""An operator's file is kept beside itself under this ending before apuhost first changes it."""


@dataclass(frozen=True)
class FileChange:
    """A file as it is (None: not there) and as it will be; `why` in words for the plan.

    `operators` tells files that are not ours: their first state is kept beside them.
    """

    path: str
    before: str | None
    after: str
    why: str
    operators: bool


@dataclass(frozen=True)
class HostPlan:
    """Everything that a deploy would do to one host, in the order of doing."""

    files: tuple[FileChange, ...] = ()
    initramfs: tuple[str, ...] = ()
    grub_cfg: tuple[str, ...] = ()
    reboot: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the host is already as it should be."""
        return not (self.files or self.initramfs or self.grub_cfg or self.reboot)
