"""Bundles that are older than the one that a mirror serves, taken from its disk.

A newer one stays: it may be about to be served, or half of it is there. What hosts took is theirs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from apuhost.bundle import receiving, remote
from apuhost.bundle.remote import HostError
from apuhost.inventory import Host
from apuhost.probes.mirror_serving import MARK

_LIST = f"""{receiving.LOCKED}
readlink ../current || echo -
find . -mindepth 1 -maxdepth 1 -type d -printf '%P\\n'
"""

# The mark goes first: what is half removed is no bundle. Before somebody said yes a deploy may have
# gone back to an older one; the lock file is that of its commands.
_REMOVE = f"""{receiving.LOCKED}
exec 8>>/run/apuhost.lock
flock -w 300 8 || {{ echo "another apuhost run is at work on this host" >&2; exit 1; }}
served=$(readlink ../current) || :
for serial in "$@"; do
  [ "$serial" != "${{served##*/}}" ] ||
    {{ echo "bundle $serial is served by now: run it again" >&2; exit 1; }}
done
before=$(df --output=avail -B1 . | tail -n 1)
for serial in "$@"; do
  rm -f -- "$serial{MARK}"
  sync -- .
  rm -rf -- "$serial"
done
sync -f .
echo "$(($(df --output=avail -B1 . | tail -n 1) - before))"
"""


@dataclass(frozen=True)
class Older:
    """The serial that a mirror serves, and the older ones that are there, from the oldest."""

    served: int
    serials: tuple[int, ...]


def older(host: Host) -> Older:
    """What may go from a mirror's host.

    Raises:
        HostError: nothing is served there, or it cannot be told.
        Unreachable: the host is not reached.
    """
    link, *found = remote.run(host, _LIST).decode("utf-8", "replace").splitlines()
    served = PurePosixPath(link).name
    if not served.isdecimal():
        raise HostError(f"{host.name}: serves no bundle: apuhost bundle install brings one there")
    serials = sorted(int(each) for each in found if each.isdecimal())
    return Older(int(served), tuple(each for each in serials if each < int(served)))


def prune(host: Host, serials: Sequence[int]) -> int:
    """Remove these bundles; how many bytes are free more than before.

    Raises:
        HostError: they cannot be removed.
        Unreachable: the host is not reached.
    """
    freed = remote.run(host, _REMOVE, tuple(map(str, serials)))
    return max(int(freed), 0)
