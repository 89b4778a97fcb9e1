"""The vulkan role on a host: before the one reboot, since only a boot loads the GPU's firmware."""

from apuhost.changes import vulkan as changes
from apuhost.steps.files import files
from apuhost.steps.packages import installed, joined

# Firmware's package source, packages, groups.
STEPS = (
    files("package sources", changes.sources, changing=("apt_sources",)),
    installed("Vulkan and GPU firmware", changes.packages, changes.firmware),
    joined("groups of the GPU's users", changes.joining),
)
