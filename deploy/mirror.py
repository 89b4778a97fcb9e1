"""The mirror role on a host: before everything that a deploy installs, and its last word."""

from pyinfra.api import deploy

from apuhost.changes import supply
from deploy.operations import write_files
from deploy.serving import serving


@deploy("mirror")
def mirror() -> None:
    """What serves, then what takes from it."""
    serving()
    write_files(name="the mirror's clients", changes=supply.files)


@deploy("bundle")
def remember() -> None:
    """Which bundle this host has, when it has all of it."""
    write_files(name="the bundle's serial", changes=supply.newest)
