"""The vulkan role on a host: before the one reboot, since only a boot loads the GPU's firmware."""

from pyinfra.api import deploy

from apuhost.changes import vulkan as changes
from deploy.operations import write_files
from deploy.packages import install, join


@deploy("vulkan")
def vulkan() -> None:
    """Firmware's package source, packages, groups."""
    write_files(name="package sources", changes=changes.sources)
    install(name="Vulkan and GPU firmware", missing=(changes.packages, changes.firmware))
    join(name="groups of the GPU's users", members=changes.joining)
