"""A mirror's host: it serves a bundle that `apuhost bundle install` has brought and checked."""

from collections.abc import Callable

from pyinfra import host
from pyinfra.api import deploy, operation

from apuhost.changes import bundled, certificate
from apuhost.changes import serving as changes
from apuhost.changes.scripts import LOCK
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.mirror_serving import AUTHORITY, FILES, MARK, REGISTRY, STORE
from deploy.facts import Known, known
from deploy.operations import Commands, asks_host, fails, root_script, write_files
from deploy.packages import CHANGING as PACKAGES_CHANGING
from deploy.units import ENABLE, VERIFIED

CHANGING = ("mirror", "mirror_serving", "units", "firewall")

# $1 the bundle's serial, $2 its suite, then packages. A service that a package brings would listen
# at once, everywhere, with nobody's settings: it is masked before. A unit of that name in /etc is
# the operator's, which systemd cannot mask, and stays theirs; so does what is installed already.
INSTALL = f"""set -e
{LOCK}
serial=$1 suite=$2
shift 2
{bundled.GET}for name in "$@"; do
  unit=/etc/systemd/system/$name.service
  case "$name" in
    {"|".join(changes.SERVICES)})
      [ -e "$unit" ] || [ -h "$unit" ] || systemctl mask --quiet -- "$name.service" ;;
  esac
done
get install -y --no-install-recommends --no-remove -- "$@"
"""

# $1 the tree's name, $2 the bundle's serial; the tree's files, line by line, are standard input.
# A tree has its name when it is whole, and the link moves when both are there.
SERVE = f"""set -e
{LOCK}
umask 022
cd {STORE}
[ -e "bundles/$2{MARK}" ] || {{ echo "bundle $2 is not whole here any more" >&2; exit 1; }}
if [ ! -d "registry/$1" ]; then
  new=registry/.new last=
  rm -rf "$new"; mkdir -p "$new"
  while read -r kind path value; do
    last=$kind
    [ "$kind" != end ] || break
    mkdir -p "$new/${{path%/*}}"
    case "$kind" in
      data) ln -s "$value" "$new/$path"
        [ -f "$new/$path" ] || {{ echo "bundle $2 has no ${{value##*/}}" >&2; exit 1; }} ;;
      link) printf %s "$value" >"$new/$path" ;;
    esac
  done
  [ "$last" = end ] || {{ echo "the list of images did not arrive whole: run again" >&2; exit 1; }}
  sync -f "$new"
  mv -T "$new" "registry/$1"
fi
rm -f .current
ln -s "bundles/$2" .current
mv -T .current current
sync .
"""

# A unit that was started tells nothing of an address that this host does not have, or no more.
# $1 the unit, $2 the port, $3 the address, $4 and $5 the name that its certificate must have.
START = f"""{ENABLE}
tries=0
until openssl s_client -connect "$3:$2" -CAfile {certificate.CA} -verify_return_error \\
    "$4" "$5" </dev/null >/dev/null 2>&1; do
  tries=$((tries + 1))
  [ "$tries" -lt 30 ] || {{
    echo "$1 does not answer at $3:$2: is that an address of this host?" >&2
    journalctl -u "$1" -b -n 10 --no-pager -o cat >&2; exit 1; }}
  sleep 1
done
"""

RETIRE = f"""set -e
{LOCK}
cd {STORE}/registry
rm -rf -- "$@"
"""

# nginx itself looks at the new file, with root's keys in the place of those that its unit hands it.
NGINX = f"""folder=$(mktemp -d)
sed 's|/run/credentials/{FILES}/|{AUTHORITY}/|; s|/run/apuhost-files/|'"$folder"'/|' "$1" \\
  >"$folder/nginx.conf"
nginx -t -q -e stderr -c "$folder/nginx.conf"
status=$?
rm -r "$folder"
exit "$status" """

Due = Callable[[Derived, HostFacts], tuple[str, ...]]


@deploy("mirror's host")
def serving() -> None:
    """Packages of the bundle, its images in the registry's form, certificate, both services."""
    install(name="what serves")
    serve(name="the bundle is served")
    certify(name="the mirror's certificate")
    write_files(name="nginx", changes=changes.files_configuration, check=NGINX)
    write_files(name="registry", changes=changes.registry_configuration)
    write_files(name="units of the mirror", changes=changes.units, check=VERIFIED)
    start(name="registry runs", unit=REGISTRY, due=changes.unregistered)
    start(name="nginx runs", unit=FILES, due=changes.unshared)
    retire(name="what no registry reads")


@operation()
@asks_host((*PACKAGES_CHANGING, *CHANGING))
def install(host_is: Known) -> Commands:
    """Install what the host lacks to serve, from the bundle that it is to serve."""
    missing, lock = changes.packages(host_is.derived, host_is.facts), host_is.facts.mirror.lock
    if not missing or lock is None:
        host.noop("every package is installed, or none is needed")
        return
    yield root_script(INSTALL, str(lock.serial), lock.target.suite, *missing)
    still = changes.packages(host_is.derived, known().facts)
    if still:
        yield fails(f"apt ran, but did not install {', '.join(still)}")


@operation()
@asks_host(CHANGING)
def serve(host_is: Known) -> Commands:
    """Give the registry its tree, and lead the files' server to the bundle."""
    lock = host_is.facts.mirror.lock
    if lock is None or not changes.unserved(host_is.derived, host_is.facts):
        host.noop("it is served, or another host serves")
        return
    names = (changes.tree(lock), str(lock.serial))
    yield root_script(SERVE, *names, stdin=changes.listing(lock))


@operation()
@asks_host(CHANGING)
def certify(host_is: Known) -> Commands:
    """Make the CA and the certificate, as far as they are due."""
    if not changes.uncertified(host_is.derived, host_is.facts):
        host.noop("it holds, or another host serves")
        return
    yield root_script(certificate.SCRIPT, certificate.alternative(host_is.settings.mirror))


@operation()
@asks_host(CHANGING)
def start(host_is: Known, unit: str, due: Due) -> Commands:
    """Enable a unit, start it anew, and wait until it shows its certificate.

    + unit: its name
    + due: what tells from the host's facts why it must be started
    """
    if not due(host_is.derived, host_is.facts):
        host.noop(f"{unit} is as it should be")
        return
    yield root_script(START, unit, *changes.answers(unit, host_is.derived))


@operation()
@asks_host(CHANGING)
def retire(host_is: Known) -> Commands:
    """Remove the registry's trees of other bundles, when it reads its own."""
    gone = changes.outdated_trees(host_is.derived, host_is.facts)
    if not gone:
        host.noop("nothing goes")
        return
    yield root_script(RETIRE, *gone)
