"""Free space per mount point, as df sees it."""

import re
from dataclasses import dataclass

from apuhost.probes import ParseError

# Local ones: a server that is away would make df wait.
COMMAND = "df -P -B1 -l -x tmpfs -x devtmpfs -x overlay 2>/dev/null | tail -n +2 | sort -u"

# POSIX's form: device, three numbers, capacity, mount point. Only that may hold blanks.
_LINE = re.compile(r"(\S+)(?:\s+[0-9]{1,20}){2}\s+([0-9]{1,20})\s+(?:[0-9]{1,3}%|-)\s+(/.*)")
_HEADING = re.compile(r"(?m)^Filesystem\s+(\S+)")
_IN_BYTES = {"1-blocks", "1B-blocks"}


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
    """Read `df -P -B1`, also without its heading; lines of another form are passed over.

    Raises:
        ParseError: its heading tells that the numbers are no bytes.
    """
    for unit in _HEADING.findall(text):
        if unit not in _IN_BYTES:
            raise ParseError(f"the heading says {unit}: what `df -P -B1` prints is in bytes")
    lines = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return Disk(tuple(Mount(line[3], line[1], int(line[2])) for line in lines if line))
