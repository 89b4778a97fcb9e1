"""One verdict of one host, by its id."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from types import ModuleType

from apuhost.derived import derive
from apuhost.gather import Unreachable
from apuhost.host_facts import HostFacts
from apuhost.round_trip import Reading
from apuhost.settings import Settings
from apuhost.verdicts import (
    Layer,
    Status,
    Verdict,
    boot,
    docker,
    firmware,
    gpu,
    mirror,
    models,
    ollama,
    vulkan,
)
from apuhost.verdicts.host import HostReport, report
from tests.support.hosts import host_facts, settings

CONCERNS: Mapping[str, ModuleType] = {
    "gpu": gpu,
    "firmware": firmware,
    "vulkan": vulkan,
    "docker": docker,
    "ollama": ollama,
    "models": models,
    "mirror": mirror,
    "boot": boot,
}


def verdict(facts: HostFacts, verdict_id: str, **data: object) -> Verdict:
    """What is said of a host with the reference settings, but for these."""
    asked = settings(**data)
    concern = CONCERNS[verdict_id.partition(".")[0]]
    found: tuple[Verdict, ...] = concern.verdicts(asked, derive(asked, facts), facts)
    return next(each for each in found if each.id == verdict_id)


TODAY = date(2026, 11, 30)


def judge(
    host: str, asked: Settings, facts: HostFacts | Unreachable, today: date = TODAY
) -> HostReport:
    """Everything that is said of a host, on a day of ours."""
    return report(host, asked, facts, today)


def failing(found: Verdict) -> tuple[Status, Layer | None]:
    """Status and first layer that differs."""
    return found.status, found.layer


def assert_named(found: Verdict, layer: Layer, observed: str, fix: str) -> None:
    """It fails at this layer, and says what was seen, by what, and what to do."""
    assert failing(found) == (Status.FAIL, layer)
    assert observed in found.observed
    assert found.evidence
    assert fix in found.fix


def unread(facts: HostFacts, *names: str) -> HostFacts:
    """The same host, but these probes were not read."""
    kept = {name: text for name, text in facts.readings.items() if name not in names}
    return replace(facts, readings=kept)


def also(facts: HostFacts, **texts: str) -> HostFacts:
    """The same host with other texts of some probes."""
    read = {name: Reading(text, 0) for name, text in texts.items()}
    return replace(facts, readings={**facts.readings, **read})


HEALTHY = host_facts()
