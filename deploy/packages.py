"""Packages through apt, and users into groups: what more than one role does."""

from collections.abc import Callable, Iterable

from pyinfra import host
from pyinfra.api import operation

from apuhost.changes.scripts import LOCK
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.mirror import APT_OPTIONS
from apuhost.probes.mirror import LOCK as LOCK_OF_MIRROR
from deploy.facts import Known, known
from deploy.operations import Commands, asks_host, fails, root_script

CHANGING = (
    "packages", "kernel", "boot", "loader", "accounts", "nodes", "docker", "units", "containers",
    "firewall", "disk", "ollama_api", "model_store",
)  # fmt: skip
"""Probes whose answers a package may change."""

# dpkg that was broken off is finished first. Nothing is removed for a package, no file of /etc that
# somebody edited is replaced, nobody is asked. An update that fails need not matter: the package
# may be here already. `from` is of `supplied`.
APT = f"""set -e
{LOCK}
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l
[ -z "$(dpkg --audit)" ] || dpkg --force-confdef --force-confold --configure -a
get() {{
  apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \\
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold ${{from-}} "$@"
}}
# Without that mode an update that reached nothing ends well (apt-get(8)).
# What the step before fetched does for this one, as long as nobody changed where it came from.
lists=/run/apuhost/apt-lists
newer() {{ find /etc/apt/ {LOCK_OF_MIRROR} -newer "$lists" 2>/dev/null | head -n 1; }}
fetched=$(find "$lists" -mmin -10 2>/dev/null) || :
if [ -z "$fetched" ] || [ -n "$(newer)" ]; then
  if get update -o APT::Update::Error-Mode=any; then
    mkdir -p "${{lists%/*}}"
    touch "$lists"
  else
    echo "apt-get update failed: going on with the lists that are here" >&2
  fi
fi
"""
INSTALL = f'{APT}get install -y --no-install-recommends --no-remove -- "$@"\n'

JOIN = f'set -e\n{LOCK}\nusermod -aG "$2" -- "$1"'

Wanted = Callable[[Derived, HostFacts], Iterable[str]]
Members = Callable[[Derived, HostFacts], Iterable[tuple[str, str]]]


@operation()
@asks_host(CHANGING)
def install(host_is: Known, missing: tuple[Wanted, ...]) -> Commands:
    """Install the packages that a host lacks, in one run of apt.

    + missing: what tells the missing packages' names from the host's facts
    """
    names = _missing(missing, host_is)
    if not names:
        host.noop("every package is installed")
        return
    yield root_script(supplied(INSTALL, host_is), *names)
    still = _missing(missing, known())
    if still:
        yield fails(f"apt ran, but did not install {', '.join(still)}")


def supplied(script: str, host_is: Known) -> str:
    """A script that begins with APT, for a host that may get its packages from a mirror alone."""
    given = host_is.settings.mirrored("apt")
    return f"from='{APT_OPTIONS}'\n{script}" if given else script


def _missing(wanted: Iterable[Wanted], host_is: Known) -> tuple[str, ...]:
    return tuple(name for each in wanted for name in each(host_is.derived, host_is.facts))


@operation()
@asks_host(("accounts",))
def join(host_is: Known, members: Members) -> Commands:
    """Let users join groups.

    + members: what tells the users and groups that are due, from the host's facts
    """
    due = tuple(members(host_is.derived, host_is.facts))
    if not due:
        host.noop("every user is in the groups")
    for user, group in due:
        yield root_script(JOIN, user, group)
