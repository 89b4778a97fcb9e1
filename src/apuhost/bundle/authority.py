"""The CA of a mirror's certificate: its host makes it, and its key never leaves that."""

from apuhost.bundle import remote
from apuhost.changes import bundled, certificate
from apuhost.inventory import Host
from apuhost.lockfile import Lock
from apuhost.settings.mirror import MirrorSettings

# $1 what the certificate is for, $2 the bundle's serial, $3 its suite. A host may be so bare that
# it lacks even openssl: the bundle, which was checked there, has it.
_SCRIPT = f"""exec 3>&1 >&2
command -v openssl >/dev/null || {{
serial=$2 suite=$3
{bundled.GET}get install -y --no-install-recommends --no-remove -- openssl
}}
(
{certificate.SCRIPT})
cat -- {certificate.CA} >&3
"""


def authority(host: Host, asked: MirrorSettings, lock: Lock) -> bytes:
    """The CA's certificate (PEM), made where there is none yet that holds.

    Raises:
        HostError: it cannot be made.
        Unreachable: the host is not reached.
    """
    words = (certificate.alternative(asked), str(lock.serial), lock.target.suite)
    return remote.run(host, _SCRIPT, words)
