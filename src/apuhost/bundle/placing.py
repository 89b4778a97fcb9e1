"""Three files by which a host knows its mirror: its CA, its packages' key, the bundle's lock."""

import io
import re
import tarfile
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import IO

from apuhost.bundle import manifest, remote, verifying
from apuhost.bundle.verifying import Bundle
from apuhost.changes import scripts
from apuhost.inventory import Host
from apuhost.probes import mirror
from apuhost.probes.mirror import APT_KEY, CERTIFICATE, FOLDER

CA, KEY, LOCK = (PurePosixPath(path).name for path in (CERTIFICATE, APT_KEY, mirror.LOCK))

_KEY_IN_BUNDLE = "apt/key.asc"

_SERIAL = re.compile(rb'^ "serial": ([0-9]+),$', re.MULTILINE)

_READ = f"[ ! -e {mirror.LOCK} ] || cat -- {mirror.LOCK}\n"

# All of them arrive before one is in place; the lock is the last, since the others belong to it.
# --touch: a deploy fetches apt's lists anew where the
# lock is newer than they are (steps/packages.py).
_PLACE = f"""umask 022
{scripts.LOCK}
mkdir -p -- {FOLDER}
cd -- {FOLDER}
rm -rf .new
trap 'rm -rf .new' EXIT
mkdir .new
tar --no-same-owner --no-same-permissions --touch -xf - -C .new
sync -f .
for file in {CA} {KEY} {LOCK}; do
  if [ -e ".new/$file" ]; then mv -T -- ".new/$file" "$file"; else rm -f -- "$file"; fi
done
sync -f .
"""


def serial(host: Host) -> int:
    """The serial of the lock that a host has; 0 where it has none.

    Raises:
        HostError: it cannot be read.
        Unreachable: the host is not reached.
    """
    found = _SERIAL.search(remote.run(host, _READ))
    return int(found[1]) if found else 0


def files(bundle: Bundle, authority: bytes) -> dict[str, bytes]:
    """What the hosts of a bundle's mirror get; `authority` is the mirror's certificate (PEM).

    Raises:
        BundleError: the bundle's folder cannot be read any more, or is another by now.
    """
    kept = {CA: authority, LOCK: _content(bundle, manifest.LOCK)}
    if bundle.manifest.entry(_KEY_IN_BUNDLE):
        kept[KEY] = _content(bundle, _KEY_IN_BUNDLE)
    return kept


def place(host: Host, files: Mapping[str, bytes]) -> None:
    """Put the files on a host, by their names; a name that is not given is not there then.

    Raises:
        HostError: they cannot be written.
        Unreachable: the host is not reached.
    """
    packed = _packed(files)

    def give(sink: IO[bytes]) -> None:
        sink.write(packed)

    remote.run(host, _PLACE, (), give)


def _packed(files: Mapping[str, bytes]) -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return into.getvalue()


def _content(bundle: Bundle, path: str) -> bytes:
    return verifying.content(bundle.folder, path, bundle.manifest)
