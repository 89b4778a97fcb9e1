"""The boot role on a host: after every boot it saves what apuhost reads, by itself."""

from apuhost.changes import boot as changes
from apuhost.steps.files import files
from apuhost.steps.units import UNITS, VERIFIED, enabled

# The program and what it reads; then its unit, which runs at once, and the timer.
STEPS = (
    files("boot's programs", changes.programs, 'sh -n "$1"', UNITS),
    files("boot's settings", changes.settings, changing=UNITS),
    files("boot's unit", changes.unit, VERIFIED, UNITS),
    files("boot's timer", changes.timer, VERIFIED, UNITS),
    enabled("this boot is saved", changes.UNIT_NAME, changes.unsaved, UNITS),
    enabled("it is saved again", changes.TIMER_NAME, changes.untimed, UNITS),
)
