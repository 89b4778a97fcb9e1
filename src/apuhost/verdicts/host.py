"""All verdicts on one host, and the line that says which host it is."""

from dataclasses import dataclass, replace
from datetime import date
from types import ModuleType

from apuhost import hardware
from apuhost.derived import derive
from apuhost.gather import Unreachable
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.settings import Settings
from apuhost.verdicts import Verdict, boot, concerns
from apuhost.verdicts.damage import damage
from apuhost.verdicts.parameter import DEPLOY, DOCTOR
from apuhost.verdicts.refusals import refusals
from apuhost.verdicts.waivers import after_waivers

CONCERNS: tuple[ModuleType, ...] = (*concerns.OF_ANY_BOOT, boot)
BOOT_ID_SHOWN = 8
MINUTE_S = 60
HOUR_S = 3600


@dataclass(frozen=True)
class HostReport:
    """One host's verdicts; `unreachable` says why there are none, `damage` why most say nothing."""

    host: str
    header: str
    verdicts: tuple[Verdict, ...]
    unreachable: str = ""
    damage: str = ""


def report(
    host: str, settings: Settings, facts: HostFacts | Unreachable, today: date
) -> HostReport:
    """Judge everything that was read of a host; `today` decides which waivers still count."""
    if isinstance(facts, Unreachable):
        return HostReport(host, "", (), str(facts))
    found = _honest(verdicts(settings, facts), settings, facts)
    judged = after_waivers(found, settings.host.host_waivers, today)
    return HostReport(host, header(settings, facts), judged, damage=damage(facts))


def _honest(
    found: tuple[Verdict, ...], settings: Settings, facts: HostFacts
) -> tuple[Verdict, ...]:
    """The verdicts; a deploy is not the fix where it would refuse the host, and why."""
    if not any(verdict.fix == DEPLOY for verdict in found):
        return found
    why = refusals(settings, derive(settings, facts), facts)
    if not why:
        return found
    reason = f"a deploy refuses this host: {'; '.join(why)}"
    return tuple(
        replace(each, fix=DOCTOR, reason=reason) if each.fix == DEPLOY else each for each in found
    )


def verdicts(settings: Settings, facts: HostFacts) -> tuple[Verdict, ...]:
    """Every verdict on what is applied; each is unknown without what all of them depend on."""
    return concerns.verdicts(CONCERNS, settings, facts)


def header(settings: Settings, facts: HostFacts) -> str:
    """Distribution, kernel, GPU, time since boot: what can be read of them, in one line."""
    parts = []
    for part in (_distribution, _kernel, _gpu, _ollama, _boot):
        try:
            parts.append(part(settings, facts))
        except Unreadable:
            continue
    return "  ".join(part for part in parts if part)


def _distribution(_: Settings, facts: HostFacts) -> str:
    release = facts.os_release
    name = (release.name or "unknown distribution").removesuffix(" GNU/Linux")
    return f"{name} {release.version or ''}".rstrip()


def _kernel(_: Settings, facts: HostFacts) -> str:
    return f"kernel {facts.kernel.running}"


def _gpu(settings: Settings, facts: HostFacts) -> str:
    simulated = settings.host.host_simulated
    if simulated and facts.machine.virtual:
        return f"simulated GPU ({simulated.gpu})"
    names = [
        f"{known.gpu if (known := hardware.apu(gpu.device)) else 'AMD GPU'} "
        f"({gpu.vendor}:{gpu.device})"
        for gpu in facts.gpus.amd
    ]
    # Without any card nothing is said: a reading that was emptied looks like that, too.
    return ", ".join(names) or ("no AMD GPU" if facts.gpus.devices else "")


def _ollama(_: Settings, facts: HostFacts) -> str:
    """What is no Ollama is called so: the rehearsal's image says it of itself."""
    container = facts.containers.ollama
    image = facts.containers.image_of(container) if container else None
    return "stand-in Ollama" if image and "apuhost.standin" in image.labels else ""


def _boot(_: Settings, facts: HostFacts) -> str:
    uptime = facts.boot.uptime_s or 0
    up = f"{uptime // MINUTE_S} min" if uptime < HOUR_S else f"{uptime // HOUR_S} h"
    return f"up {up}  boot {facts.boot.boot_id[:BOOT_ID_SHOWN]}"
