"""The docker role on a host: an engine that keeps its containers, whoever installed it."""

from apuhost.changes import docker as changes
from apuhost.changes import docker_ce, needed, site_ca
from apuhost.changes.scripts import LOCK
from apuhost.probes.daemon_json import DROP_INS
from apuhost.probes.units import RELOADED
from apuhost.steps import Step, StepFailed, Target, Work, script
from apuhost.steps.files import files, write
from apuhost.steps.packages import APT, installed, joined, supplied
from apuhost.steps.packages import CHANGING as PACKAGES_CHANGING

CHANGING = (
    "docker", "daemon_json", "containers", "units", "firewall", "ollama_api", "model_store",
    "compose", "disk",
)  # fmt: skip

TRUST = f"""set -e
{LOCK}
command -v update-ca-certificates >/dev/null || {{
{APT}get install -y --no-install-recommends --no-remove {needed.CERTIFICATES}
}}
# What is gone leaves a dangling link, which only a fresh start clears.
[ -e {site_ca.PATH} ] && fresh= || fresh=--fresh
update-ca-certificates $fresh
"""

# dockerd before 23.0 cannot tell, and is refused before.
VALID = """command -v dockerd >/dev/null || exit 0
pid=$(systemctl show docker.service -p MainPID 2>/dev/null | cut -d= -f2)
# With the flags that it runs with: dockerd starts no more where a flag and the file say the same.
[ "${pid:-0}" = 0 ] || exec xargs -0 -a "/proc/$pid/cmdline" sh -c \\
  'file=$1; shift 2; exec dockerd "$@" --validate --config-file "$file" 2>&1' check "$1"
# Or would run with: the unit's words; a variable is what the unit's files and lines say, in words.
of_unit() { systemctl show docker.service -p "$1" 2>/dev/null | sed "s/^$1=//"; }
settings() {
  of_unit Environment | xargs -r printf '%s\\n'
  of_unit EnvironmentFiles | sed 's/ (ignore_errors=[a-z]*)$//' |
    while read -r file; do [ ! -r "$file" ] || cat "$file"; done
}
value() { settings | sed -n "s/^[[:space:]]*$1=//p" | tail -n 1 | tr -d '"'"'"; }
set -f
words=$(of_unit ExecStart | sed -n 's/.* argv\\[\\]=[^ ]* \\(.*\\) ; ignore_errors=.*/\\1/p')
for word in $words; do
  case "$word" in
    '$'*) name=${word#?}; name=${name#'{'}; set -- "$@" $(value "${name%'}'}") ;;
    *) set -- "$@" "$word" ;;
  esac
done
file=$1; shift
exec dockerd "$@" --validate --config-file "$file" 2>&1"""

# units.py compares daemon.json's age with this file's.
RELOAD = f"""set -e
{LOCK}
systemctl reload docker.service
mkdir -p {RELOADED.rpartition("/")[0]}
touch {RELOADED}
"""
START = f"set -e\n{LOCK}\nsystemctl daemon-reload\nsystemctl enable --now docker.service"

# With live-restore containers run on while dockerd is away. systemd does not wait until dockerd has
# taken up what it was told to read again (dockerd's unit: a plain HUP).
RESTART = f"""set -e
{LOCK}
systemctl daemon-reload
systemctl reload docker.service
timeout 30 sh -c '
until [ "$(docker info -f "{{{{.LiveRestoreEnabled}}}}" 2>/dev/null)" = true ]; do sleep 1; done' ||
  [ -z "$(timeout 10 docker ps -q || echo unknown)" ] ||
  {{ echo "dockerd has not taken up live-restore within 30 s: a restart would end its containers;" \
    "not restarted, journalctl -u docker.service says why" >&2; exit 1; }}
systemctl restart docker.service
docker info >/dev/null
"""


# dockerd trusts what it read at its start, and of a file that is gone nothing tells: the folder of
# its drop-ins is newer then, and this run or the next one restarts it.
OUTDATE = f"set -e\n{LOCK}\nmkdir -p {DROP_INS}\ntouch {DROP_INS}"

# $1 the fingerprint, $2 where the key goes: apt trusts it for Docker's packages alone (Signed-By).
# A second key beside the right one is refused with it: apt would trust both.
KEY = f"""set -e
{APT}
command -v gpg >/dev/null || get install -y --no-install-recommends --no-remove {needed.KEY_READER}
folder=$(mktemp -d); trap 'rm -r "$folder"' EXIT
/usr/lib/apt/apt-helper -q -o APT::Sandbox::User=root download-file \\
  https://download.docker.com/linux/debian/gpg "$folder/key" 2>&1
found=$(gpg --homedir "$folder" --show-keys --with-colons "$folder/key" |
  awk -F: '$1 == "pub" {{ own = 1 }} $1 == "fpr" && own {{ print $10; own = 0 }}')
[ "$found" = "$1" ] || {{ echo "Docker's key is $found, not $1: not trusted" >&2; exit 1; }}
mkdir -p "$(dirname "$2")"
install -m 0644 "$folder/key" "$2.apuhost-new"; sync "$2.apuhost-new"; mv -T "$2.apuhost-new" "$2"
"""

# $1 the packages that may go, then what is installed and (NAME-) what goes: nothing else goes.
REPLACE = f"""{APT}
may=$1; shift
going=$(get install -s --no-install-recommends -- "$@" | sed -n 's/^Remv \\([^ ]*\\).*/\\1/p')
for gone in $going; do
  case " $may " in
    *" $gone "*) ;;
    *) echo "apt would remove $gone, too: not begun" >&2; exit 1 ;;
  esac
done
get install -y --no-install-recommends -- "$@"
"""


def remove_certificates(target: Target) -> Work:
    """Remove the site's certificates when no container mounts them."""
    now = target.known()
    due = site_ca.leaving(now.derived, now.facts)
    if not due or site_ca.mounting(now.facts):
        target.nothing_due("nothing goes")
        return
    yield script(OUTDATE)
    yield write(due[0], ":")


def trust(target: Target) -> Work:
    """Make the site's certificates part of what every program trusts."""
    now = target.known()
    if not site_ca.untrusted(now.derived, now.facts):
        target.nothing_due("certificates are as they should be")
        return
    yield script(supplied(TRUST, now))


def set_daemon_json(target: Target) -> Work:
    """Set our keys of daemon.json; reload where that is enough."""
    now = target.known()
    due = changes.daemon_file(now.derived, now.facts)
    if not due:
        target.nothing_due("daemon.json has our keys")
        return
    yield write(due[0], VALID)
    if changes.reloads(due[0], now.facts):
        yield script(RELOAD)


def fetch_key(target: Target) -> Work:
    """Docker's key, before the source that apt reads by it."""
    now = target.known()
    if not docker_ce.key(now.derived, now.facts):
        target.nothing_due("it is not needed, or here")
        return
    yield script(KEY, docker_ce.FINGERPRINT, docker_ce.KEYRING)


def replace(target: Target) -> Work:
    """Docker's own packages in, and out what cannot stand beside them."""
    now = target.known()
    gone = docker_ce.conflicting(now.derived, now.facts)
    if not gone:
        target.nothing_due("nothing stands in the way of Docker's packages")
        return
    missing = changes.packages(now.derived, now.facts)
    going = (f"{name}-" for name in gone)
    yield script(supplied(REPLACE, now), " ".join(gone), *missing, *going)


def start(target: Target) -> Work:
    """Start the engine, now and at every boot."""
    now = target.known()
    if not changes.stopped(now.derived, now.facts):
        target.nothing_due("it runs")
        return
    yield script(START)
    if not target.known().facts.docker.active:
        raise StepFailed("dockerd does not start: journalctl -u docker.service says why")


def restart(target: Target) -> Work:
    """Restart dockerd when a file that it read at its start is newer; containers run on."""
    if not changes.outdated(target.known().facts):
        target.nothing_due("dockerd has read everything")
        return
    yield script(RESTART)


TRUSTED = Step("trusted certificates", trust, ("units",))

# The site's certificates and proxy, before anything is downloaded.
NETWORK = (files("proxy and site certificates", changes.network), TRUSTED)

# daemon.json comes before the engine, so that its first start has it.
STEPS = (
    Step("daemon.json", set_daemon_json, CHANGING),
    Step("Docker's key", fetch_key, (*PACKAGES_CHANGING, "apt_sources")),
    files("Docker's package source", docker_ce.repository, changing=("apt_sources",)),
    Step("Docker of Docker's own packages", replace, (*PACKAGES_CHANGING, *CHANGING)),
    installed("Docker", changes.packages),
    Step("Docker runs", start, CHANGING),
    Step("Docker has its settings", restart, CHANGING),
    joined("group docker", changes.members),
)

# What nobody asks for any more, after the containers that mounted it were made again.
RETIRING = (
    Step("site certificates that nobody asks for", remove_certificates, ("units",)),
    TRUSTED,
    Step("Docker trusts them no more", restart, CHANGING),
)
