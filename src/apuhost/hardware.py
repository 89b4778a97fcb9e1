"""The APUs that apuhost knows: PCI ids, names and what is special about each."""

from dataclasses import dataclass

AMD = "1002"
"""PCI vendor id of AMD's GPUs."""


@dataclass(frozen=True)
class Apu:
    """One integrated GPU, by its PCI device id (four hex digits).

    `hsa_override` is HSA_OVERRIDE_GFX_VERSION: the target that ROCm takes it for, where it has no
    kernels for the GPU's own (gfx1103 runs those of gfx1100).
    """

    device: str
    gpu: str
    processors: str
    gfx: str
    hsa_override: str = ""


# Ids and gfx targets: Mesa's and the kernel's own tables (radeonsi_pci_ids.h, amdgpu_drv.c).
APUS = (
    Apu("1900", "Radeon 780M", "Hawk Point (8845HS, 8745H)", "gfx1103", "11.0.0"),
    Apu("15bf", "Radeon 780M", "Phoenix (7840HS, 7940HS)", "gfx1103", "11.0.0"),
    Apu("150e", "Radeon 890M", "Strix Point (HX 370, HX 375)", "gfx1150"),
    Apu("1586", "Radeon 8060S", "Strix Halo (Max+ 395, 390, 385)", "gfx1151"),
    Apu("1114", "Radeon 860M", "Krackan (AI 7 350)", "gfx1152"),
)


def apu(device: str) -> Apu | None:
    """The APU with this PCI device id, or None for one that is not in the table."""
    return next((known for known in APUS if known.device == device.lower()), None)
