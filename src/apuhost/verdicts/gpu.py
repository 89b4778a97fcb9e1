"""Verdicts on the GPU itself: is there one, and does amdgpu drive it?"""

from apuhost import hardware, verdict_ids
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.settings import Settings
from apuhost.verdicts import Found, Layer, Question, Verdict, judge

SWITCH_ON = "switch the built-in GPU on in the BIOS setup; lspci -d 1002: lists it then"

IDS = verdict_ids.GPU
"""What `verdicts` answers, in its order."""


def verdicts(settings: Settings, _: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """Every verdict of this concern, in a fixed order."""
    return (driver(settings, facts),)


def driver(settings: Settings, facts: HostFacts) -> Verdict:
    """Is every AMD GPU bound to amdgpu?"""
    return judge(
        Question("gpu.driver", "an AMD GPU driven by amdgpu"),
        ((Layer.EFFECTIVE, lambda: _bound(settings, facts)),),
    )


def _bound(settings: Settings, facts: HostFacts) -> Found:
    simulated = settings.host.host_simulated
    if simulated and facts.machine.virtual:
        return Found(None, f"simulated GPU {simulated.gpu}: a VM has none")
    gpus = facts.gpus.amd
    if not gpus:
        return Found(False, "no AMD GPU on the PCI bus", "lspci -d 1002: lists none", SWITCH_ON)
    for gpu in gpus:
        if gpu.driver != "amdgpu":
            return Found(
                False,
                f"{gpu.vendor}:{gpu.device} has driver {gpu.driver or 'none'}",
                f"/sys/bus/pci/devices/{gpu.pci}/driver",
                "journalctl -k -b | grep -e amdgpu -e firmware",
            )
    names = [known.gpu for gpu in gpus if (known := hardware.apu(gpu.device))]
    return Found(True, f"{', '.join(names) or 'an AMD GPU'} driven by amdgpu")
