"""Packages through apt, and users into groups: what more than one role does."""

from collections.abc import Callable, Iterable

from apuhost.changes.scripts import LOCK
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.mirror import APT_OPTIONS
from apuhost.probes.mirror import LOCK as LOCK_OF_MIRROR
from apuhost.steps import Known, Step, StepFailed, Target, Work, script

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


def installed(name: str, *missing: Wanted) -> Step:
    """A step that installs the packages which `missing` tell, in one run of apt."""

    def work(target: Target) -> Work:
        now = target.known()
        names = _missing(missing, now)
        if not names:
            target.nothing_due("every package is installed")
            return
        yield script(supplied(INSTALL, now), *names)
        if still := _missing(missing, target.known()):
            raise StepFailed(f"apt ran, but did not install {', '.join(still)}")

    return Step(name, work, CHANGING)


def supplied(text: str, now: Known) -> str:
    """A script that begins with APT, for a host that may get its packages from a mirror alone."""
    given = now.settings.mirrored("apt")
    return f"from='{APT_OPTIONS}'\n{text}" if given else text


def _missing(wanted: Iterable[Wanted], now: Known) -> tuple[str, ...]:
    return tuple(name for each in wanted for name in each(now.derived, now.facts))


def joined(name: str, members: Members) -> Step:
    """A step that lets users join groups, both told by `members`."""

    def work(target: Target) -> Work:
        now = target.known()
        due = tuple(members(now.derived, now.facts))
        if not due:
            target.nothing_due("every user is in the groups")
        for user, group in due:
            yield script(JOIN, user, group)

    return Step(name, work, ("accounts",))
