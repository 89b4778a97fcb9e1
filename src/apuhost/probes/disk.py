"""Free space per mount point, as df sees it."""

from dataclasses import dataclass

from apuhost.probes.pairs import whole_number

# Local ones: a server that is away would make df wait.
COMMAND = "df -P -B1 -l -x tmpfs -x devtmpfs -x overlay 2>/dev/null | tail -n +2 | sort -u"


@dataclass(frozen=True)
class Mount:
    """One file system; bytes that an unprivileged user could still write."""

    path: str
    device: str
    available_bytes: int


@dataclass(frozen=True)
class Disk:
    """The file systems under the asked folders."""

    mounts: tuple[Mount, ...]

    def under(self, path: str) -> Mount | None:
        """The file system that holds `path`: the longest mount point that leads to it."""
        holding = [
            mount
            for mount in self.mounts
            if path == mount.path or path.startswith(f"{mount.path.rstrip('/')}/")
        ]
        return max(holding, key=lambda mount: len(mount.path), default=None)


def parse(text: str) -> Disk:
    """Read `df -P -B1` without its heading; lines of another form are passed over."""
    mounts = []
    for line in text.splitlines():
        # A mount point may hold blanks; the first five columns never do (df -P).
        columns = line.split(None, 5)
        available = whole_number(columns[3]) if len(columns) == 6 else None  # noqa: PLR2004
        if available is not None:
            mounts.append(Mount(columns[5], columns[0], available))
    return Disk(tuple(mounts))
