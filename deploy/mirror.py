"""The mirror role on a host: before everything that a deploy installs."""

from pyinfra.api import deploy

from deploy.serving import serving


@deploy("mirror")
def mirror() -> None:
    """What serves, then what takes from it."""
    serving()
