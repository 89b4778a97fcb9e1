"""The boot role on a host: after every boot it saves what apuhost reads, by itself."""

from pyinfra.api import deploy

from apuhost.changes import boot as changes
from deploy.operations import write_files
from deploy.units import VERIFIED, enable


@deploy("boot")
def boot() -> None:
    """The program and what it reads; then its unit, which runs at once, and the timer."""
    write_files(name="boot's programs", changes=changes.programs, check='sh -n "$1"')
    write_files(name="boot's settings", changes=changes.settings)
    write_files(name="boot's unit", changes=changes.unit, check=VERIFIED)
    write_files(name="boot's timer", changes=changes.timer, check=VERIFIED)
    enable(name="this boot is saved", unit=changes.UNIT_NAME, due=changes.unsaved)
    enable(name="it is saved again", unit=changes.TIMER_NAME, due=changes.untimed)
