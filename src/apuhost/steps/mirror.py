"""The mirror role on a host: before everything that a deploy installs, and its last word."""

from apuhost.changes import retiring, supply
from apuhost.changes.scripts import LOCK
from apuhost.steps import Step, Target, Work, script
from apuhost.steps.files import files, write
from apuhost.steps.serving import CHANGING

# Units, also one whose file is gone: it runs on, and cannot be disabled.
STOP = f"""set -e
{LOCK}
for unit in "$@"; do
  systemctl stop -- "$unit"
  [ ! -e "/etc/systemd/system/$unit" ] || systemctl disable --quiet -- "$unit"
done
"""

RELOAD = f"set -e\n{LOCK}\nsystemctl daemon-reload"


def end(target: Target) -> Work:
    """Stop and disable both services, then remove their files."""
    now = target.known()
    running = retiring.actions(now.derived, now.facts)
    going = retiring.files(now.derived, now.facts)
    if not (running or going):
        target.nothing_due("nothing serves that must not")
        return
    yield script(STOP, *(each.what for each in running))
    for change in going:
        yield write(change, ":")
    yield script(RELOAD)


# What a mirror left on a host that is asked for it no more.
LEAVING = (
    Step("what served", end, CHANGING),
    files("what led to it", supply.leaving),
)

# What takes from it; what serves stands in `serving`.
STEPS = (files("the mirror's clients", supply.files),)

# Which bundle this host has, when it has all of it.
REMEMBERING = (files("the bundle's serial", supply.newest),)
