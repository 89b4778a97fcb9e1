"""Verdicts on the ollama role: is the container as asked, and does Ollama compute on the GPU?"""

import re

from apuhost import verdict_ids
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.settings import Settings
from apuhost.verdicts import Found, Layer, Question, Verdict, judge, service
from apuhost.verdicts.container import LOGS, container, image
from apuhost.verdicts.discovery import gpu
from apuhost.verdicts.exposure import exposure
from apuhost.verdicts.offload import offload, prompt_cache
from apuhost.verdicts.parameter import DEPLOY
from apuhost.verdicts.reuse import prefix_cache
from apuhost.verdicts.runner import runner
from apuhost.verdicts.variables import variables

VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\S*")
VARIANT = "-rocm"

IDS = verdict_ids.OLLAMA
"""What `verdicts` answers, in its order."""

ACTIVE_IDS = verdict_ids.OLLAMA_ACTIVE
"""What it answers beside them when the hosts were asked to work (--active)."""


def verdicts(_: Settings, derived: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """Every verdict of this concern, in a fixed order."""
    asked = (image, container, variables, exposure, api, gpu, runner, offload, prompt_cache)
    return (*(judged(derived, facts) for judged in asked), *prefix_cache(derived, facts))


def api(derived: Derived, facts: HostFacts) -> Verdict:
    """Does the API answer on the host itself, with the version of the pinned image?"""
    tag = derived.settings.ollama.version
    return judge(
        Question("ollama.api", f"the API answers as Ollama {tag}"),
        ((Layer.EFFECTIVE, lambda: _answers(tag, derived, facts)),),
    )


def _answers(tag: str, derived: Derived, facts: HostFacts) -> Found:
    name = service.container(derived, facts).name
    found = facts.ollama_api
    if found.address is None and "docker does not answer" in (found.error or ""):
        raise Unreadable(f"ollama_api: {found.error}")
    if not found.answered:
        where = f"GET http://{found.address}/api/version: " if found.address else ""
        said = f"{where}{found.error}".replace(": GET /api/version", "")
        return Found(False, "the API does not answer", said, f"{LOGS} {name}")
    version = tag.removesuffix(VARIANT)
    if VERSION.fullmatch(version) and found.version != version:
        said = f'GET /api/version: {{"version":"{found.version}"}}'
        return Found(False, f"Ollama {found.version} answers", said, DEPLOY)
    return Found(True, f"Ollama {found.version} at {found.address}")
