"""A mirror's host: it serves a bundle that `apuhost bundle install` has brought and checked."""

from collections.abc import Callable

from apuhost.changes import bundled, certificate
from apuhost.changes import serving as changes
from apuhost.changes.scripts import LOCK
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.mirror_serving import AUTHORITY, FILES, MARK, REGISTRY, STORE
from apuhost.steps import Step, StepFailed, Target, Work, script
from apuhost.steps.files import files
from apuhost.steps.packages import CHANGING as PACKAGES_CHANGING
from apuhost.steps.units import ENABLE, VERIFIED

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


def install(target: Target) -> Work:
    """Install what the host lacks to serve, from the bundle that it is to serve."""
    now = target.known()
    missing, lock = changes.packages(now.derived, now.facts), now.facts.mirror.lock
    if not missing or lock is None:
        target.nothing_due("every package is installed, or none is needed")
        return
    yield script(INSTALL, str(lock.serial), lock.target.suite, *missing)
    if still := changes.packages(now.derived, target.known().facts):
        raise StepFailed(f"apt ran, but did not install {', '.join(still)}")


def serve(target: Target) -> Work:
    """Give the registry its tree, and lead the files' server to the bundle."""
    now = target.known()
    lock = now.facts.mirror.lock
    if lock is None or not changes.unserved(now.derived, now.facts):
        target.nothing_due("it is served, or another host serves")
        return
    names = (changes.tree(lock), str(lock.serial))
    yield script(SERVE, *names, stdin=changes.listing(lock))


def certify(target: Target) -> Work:
    """Make the CA and the certificate, as far as they are due."""
    now = target.known()
    if not changes.uncertified(now.derived, now.facts):
        target.nothing_due("it holds, or another host serves")
        return
    yield script(certificate.SCRIPT, certificate.alternative(now.settings.mirror))


def answering(name: str, unit: str, due: Due) -> Step:
    """A step that enables a unit, starts it anew, and waits until it shows its certificate."""

    def work(target: Target) -> Work:
        now = target.known()
        if not due(now.derived, now.facts):
            target.nothing_due(f"{unit} is as it should be")
            return
        yield script(START, unit, *changes.answers(unit, now.derived))

    return Step(name, work, CHANGING)


def retire(target: Target) -> Work:
    """Remove the registry's trees of other bundles, when it reads its own."""
    now = target.known()
    gone = changes.outdated_trees(now.derived, now.facts)
    if not gone:
        target.nothing_due("nothing goes")
        return
    yield script(RETIRE, *gone)


# Packages of the bundle, its images in the registry's form, certificate, both services.
STEPS = (
    Step("what serves", install, (*PACKAGES_CHANGING, *CHANGING)),
    Step("the bundle is served", serve, CHANGING),
    Step("the mirror's certificate", certify, CHANGING),
    files("nginx", changes.files_configuration, NGINX),
    files("registry", changes.registry_configuration),
    files("units of the mirror", changes.units, VERIFIED),
    answering("registry runs", REGISTRY, changes.unregistered),
    answering("nginx runs", FILES, changes.unshared),
    Step("what no registry reads", retire, CHANGING),
)
