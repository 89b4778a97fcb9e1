"""The mirror's CA, and the certificate of what it serves: made on its host, where the keys stay.

`apuhost bundle install` asks for the CA before the first deploy, by the same script.
"""

from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.mirror_serving import AUTHORITY, BUNDLES
from apuhost.settings.mirror import MirrorSettings

CA = f"{AUTHORITY}/ca.crt"
SOON_DAYS = 90
_DAY_S = 86_400
_SOON_S = SOON_DAYS * _DAY_S

# $1 the mirror's name as a certificate says it (`alternative`). What is there and holds, stays.
# A key is in place before its certificate: where they do not fit, both are made again. Clocks of
# hosts that never asked anybody differ, so a certificate holds since a year before it was made.
SCRIPT = f"""set -e
umask 077
command -v openssl >/dev/null || {{
  echo "openssl is not here, which makes the mirror's certificate: dpkg --install" \\
    "$(find {BUNDLES} -name 'openssl_*.deb' | tail -n 1)" >&2; exit 1; }}
mkdir -p {AUTHORITY}
chmod 0755 {AUTHORITY.rpartition("/")[0]} && chmod 0700 {AUTHORITY}
cd {AUTHORITY}
exec 8>>lock
flock -w 60 8 || {{ echo "somebody else is at work on the mirror's certificate" >&2; exit 1; }}
rm -rf work.*
work=$(mktemp -d "$PWD/work.XXXXXX"); trap 'rm -r "$work"' EXIT
cat >"$work/conf" <<END
[req]
distinguished_name = name
[name]
[ca]
default_ca = site
[site]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = named
[named]
commonName = supplied
[of_ca]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[of_server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = $1
END
said() {{ "$@" >"$work/said" 2>&1 || {{ cat "$work/said" >&2; exit 1; }}; }}
holds() {{ # $1 the name: it is there with its key, and does not end soon
  openssl x509 -in "$1.crt" -noout -checkend {_SOON_S} >/dev/null 2>&1 &&
    of=$(openssl pkey -in "$1.key" -pubout 2>/dev/null) &&
    [ "$(openssl x509 -in "$1.crt" -noout -pubkey)" = "$of" ]
}}
put() {{ sync "$work/$1"; mv -T "$work/$1" "$1"; sync .; }}
at() {{ date -u -d "$1" +%Y%m%d%H%M%SZ; }}
make() {{ # $1 the name, $2 its subject, $3 until when, then how it is signed
  name=$1 subject=$2 end=$3; shift 3
  : >"$work/index"
  said openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/$name.key"
  said openssl req -new -config "$work/conf" -key "$work/$name.key" -subj "/CN=$subject" \\
    -out "$work/csr"
  [ "$name" = server ] || by=$work/ca.key
  said openssl ca -batch -config "$work/conf" -notext -in "$work/csr" -out "$work/$name.crt" \\
    -startdate "$(at '1 year ago')" -enddate "$(at "$end")" \\
    -extensions "of_$name" -keyfile "$by" "$@"
  put "$name.key"; put "$name.crt"
}}
holds ca || make ca "apuhost mirror CA" "20 years" -selfsign
by=ca.key
holds server && openssl verify -no_check_time -CAfile ca.crt server.crt >/dev/null 2>&1 &&
  openssl x509 -in server.crt -noout -ext subjectAltName | sed 's/IP Address/IP/' |
    grep -qxF "    $1" ||
  make server "apuhost mirror" "10 years" -cert ca.crt
"""


def due(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the script must run: something is not there, ends soon, or is for another address."""
    found, now = facts.mirror_serving, facts.boot.now
    if found.authority is None or found.server is None:
        return ("there is none",)
    if min(found.authority.until, found.server.until) - now < _SOON_S:
        return (f"it ends within {SOON_DAYS} days",)
    if not found.signed:
        return ("it is not of the CA here",)
    wanted = names(derived.settings.mirror)
    return () if found.names == wanted else (f"it is for {found.names}, not for {wanted}",)


def alternative(asked: MirrorSettings) -> str:
    """The mirror's address as openssl's subjectAltName takes it."""
    return f"{'IP' if asked.numeric else 'DNS'}:{asked.mirror_address}"


def names(asked: MirrorSettings) -> str:
    """The same as openssl prints it."""
    return alternative(asked).replace("IP:", "IP Address:", 1)
