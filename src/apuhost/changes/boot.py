"""What the boot role changes: a program that saves every boot's facts, its unit and its timer."""

import json
from hashlib import sha256

from apuhost import roles
from apuhost.changes import FileChange, RolePlan, as_bytes, due, owned
from apuhost.changes.units import not_enabled
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.boots import FOLDER
from apuhost.probes.units import SCRIPT
from apuhost.round_trip import PROBES, script
from apuhost.saved_boot import MARK, SETTINGS
from apuhost.settings import as_data

UNIT_NAME = "apuhost-boot.service"
TIMER_NAME = "apuhost-boot.timer"
UNIT = f"/etc/systemd/system/{UNIT_NAME}"
TIMER = f"/etc/systemd/system/{TIMER_NAME}"
PROGRAM = "/usr/local/lib/apuhost/boot"
SAVED = (FOLDER, "/var/lib/apuhost/report", "/run/motd.d/apuhost")
"""What the program itself writes."""

SAVES = "saves what is read after every boot"
READS = "reads the host, as verify does"


def plan(derived: Derived, facts: HostFacts) -> RolePlan:
    """Everything that is due for the boot role."""
    return RolePlan(
        "boot",
        files=files(derived, facts),
        actions=(
            *due(UNIT_NAME, "enabled and run", unsaved(derived, facts)),
            *due(TIMER_NAME, "enabled and started", untimed(derived, facts)),
        ),
    )


def files(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """Everything that is written, in its order."""
    parts = (programs, settings, unit, timer)
    return tuple(change for part in parts for change in part(derived, facts))


def programs(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The program that saves, and judges where it is told to, and the script that it runs."""
    return (*_rendered(PROGRAM, derived, facts, SAVES), *_script(facts))


def _script(facts: HostFacts) -> tuple[FileChange, ...]:
    """The script of all probes that verify sends, but for the one that reads what is saved."""
    text = f"{script(MARK, (name for name in PROBES if name != 'boots'))}\n"
    found = facts.units.script
    if found == sha256(as_bytes(text)).hexdigest():
        return ()
    why = "brought up to date" if found else "new"
    return (FileChange(SCRIPT, None, text, why, operators=False, digest=found, purpose=READS),)


def settings(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The settings by which a host judges itself; without that, the file goes."""
    before = facts.units.text(SETTINGS)
    if not derived.settings.boot.boot_checkout:
        return () if before is None else owned(SETTINGS, before, "")
    told = {"host": facts.host, "settings": as_data(derived.settings)}
    return owned(SETTINGS, before, f"{json.dumps(told, indent=1)}\n")


def unit(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The unit that runs the program after every boot."""
    return _rendered(UNIT, derived, facts)


def timer(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The timer that runs it again."""
    return _rendered(TIMER, derived, facts)


def _rendered(
    path: str, derived: Derived, facts: HostFacts, purpose: str = ""
) -> tuple[FileChange, ...]:
    after = roles.render("boot", path, values(derived))
    return owned(path, facts.units.text(path), after, purpose)


def unsaved(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the unit must run now. What did its work is inactive until the timer's next time."""
    changing = [each for each in files(derived, facts) if each.path != TIMER]
    if changing:
        return tuple(f"{change.path} changes" for change in changing)
    return not_enabled(UNIT_NAME, facts, at_work="inactive")


def untimed(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the timer must be started."""
    changing = timer(derived, facts)
    return tuple(f"{each.path} changes" for each in changing) or not_enabled(TIMER_NAME, facts)


def values(derived: Derived) -> dict[str, object]:
    """The variables that roles/boot/templates may use."""
    boot = derived.settings.boot
    metrics = f" --metrics {boot.boot_textfile_dir}/apuhost.prom" if boot.boot_textfile_dir else ""
    return {
        "boot_keep": boot.boot_keep,
        "boot_every_h": boot.boot_every_h,
        "boot_checkout": boot.boot_checkout,
        "metrics": metrics,
        "probes_mark": MARK,
    }
