"""The CA of a mirror's certificate: its host makes it, and its key never leaves that."""

from apuhost.bundle import remote
from apuhost.changes import certificate
from apuhost.inventory import Host
from apuhost.lockfile import Lock
from apuhost.probes.mirror import alone
from apuhost.probes.mirror_serving import BUNDLES
from apuhost.settings.mirror import MirrorSettings

_SOURCE = "/run/apuhost/bundle.sources"

# $1 what the certificate is for, $2 the bundle's serial, $3 its suite. A host may be so bare that
# it lacks even openssl: the bundle, which was checked there, has it. apt sees nothing else.
_SCRIPT = f"""exec 3>&1 >&2
command -v openssl >/dev/null || {{
  mkdir -p /run/apuhost
  folder={BUNDLES}/$2/apt
  printf 'Types: deb\\nURIs: file:%s\\nSuites: %s\\nComponents: main\\nSigned-By: %s\\n' \\
    "$folder" "$3" "$folder/key.asc" >{_SOURCE}
  get() {{
    DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 \\
      {alone(_SOURCE)} "$@"
  }}
  get update -o APT::Update::Error-Mode=any
  get install -y --no-install-recommends --no-remove -- openssl
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
