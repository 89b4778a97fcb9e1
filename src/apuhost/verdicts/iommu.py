"""kernel.iommu: is the IOMMU in the state that was asked, who turned it off, and what that costs.

The firmware's switch outweighs the kernel line: without its table there is nothing to switch on.
"""

from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.cmdline import Cmdline
from apuhost.settings import Settings
from apuhost.verdicts import Found, Layer, Question, Verdict, judge
from apuhost.verdicts.parameter import Parameter, by_depth, looks, release_of

PRICES = {
    "off": "no NPU, no protection against DMA",
    "passthrough": "no faster than translated, as measured elsewhere",
    "translated": "long prompts 4 % slower than off, as measured on a Radeon 780M",
}
"""What each state costs (docs/kernels.md has the measurements)."""


def iommu(settings: Settings, facts: HostFacts) -> Verdict:
    """Is the IOMMU off, in passthrough or as the kernel likes, as asked?"""
    choice = settings.kernel.kernel_amd_iommu
    release = release_of(facts)
    parameters = {
        "off": (Parameter("amd_iommu", "off", release),),
        "pt": (Parameter("amd_iommu", None, release), Parameter("iommu", "pt", release)),
        "default": (Parameter("amd_iommu", None, release), Parameter("iommu", None, release)),
    }[choice]
    layers = [look for parameter in parameters for look in looks(parameter, facts)]
    return judge(
        Question("kernel.iommu", f"IOMMU {choice}"),
        (*by_depth(layers), (Layer.EFFECTIVE, lambda: _state(choice, facts))),
    )


def _state(choice: str, facts: HostFacts) -> Found:
    state = facts.iommu.state
    wanted = {"off": "off", "pt": "passthrough"}.get(choice, state)
    observed = f"IOMMU {state}{_by(facts) if state == 'off' else ''} ({PRICES[state]})"
    if state == wanted:
        return Found(True, observed)
    if state == "off":
        fix = "switch it on in the firmware (BIOS) setup"
        return Found(False, observed, "/sys/class/iommu is empty", fix)
    units = ", ".join(facts.iommu.units) or f"no unit, {facts.iommu.groups} groups"
    return Found(False, observed, f"/sys/class/iommu has {units}", "reboot")


def _by(facts: HostFacts) -> str:
    """Who turned it off, as far as that can be told."""
    who = []
    if facts.iommu.described is False:
        who.append("the firmware")
    try:
        if _says_off(facts.cmdline):
            who.append("the kernel line")
    except Unreadable:
        pass  # the booted layer says so
    return f" by {' and '.join(who)}" if who else ""


def _says_off(line: Cmdline) -> bool:
    """Off is a flag: no later value takes it back (amd_iommu_setup, iommu_setup)."""
    values = (*line.values("amd_iommu"), *line.values("iommu"))
    return any("off" in (value or "").split(",") for value in values)
