"""Packages out of a bundle on its mirror's own disk, for a host that lacks what it serves by."""

from apuhost.probes.mirror import alone
from apuhost.probes.mirror_serving import BUNDLES

SOURCE = "/run/apuhost/bundle.sources"

# $serial is the bundle's, $suite that of its packages; after it `get` is an apt-get that knows the
# bundle alone. dpkg that was broken off is finished first, and no file of /etc is replaced.
GET = f"""export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l
folder={BUNDLES}/$serial/apt
[ -e "$folder/key.asc" ] || {{ echo "bundle $serial has no packages: lock and build it anew" >&2
  exit 1; }}
[ -z "$(dpkg --audit)" ] || dpkg --force-confdef --force-confold --configure -a
mkdir -p {SOURCE.rpartition("/")[0]}
printf 'Types: deb\\nURIs: file:%s\\nSuites: %s\\nComponents: main\\nSigned-By: %s\\n' \\
  "$folder" "$suite" "$folder/key.asc" >{SOURCE}
get() {{
  apt-get -q -o DPkg::Lock::Timeout=300 \\
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold {alone(SOURCE)} "$@"
}}
get update -o APT::Update::Error-Mode=any
"""
