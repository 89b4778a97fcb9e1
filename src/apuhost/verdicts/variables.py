"""ollama.environment: do the compose file, the container and the server have the asked variables?

Values are compared by what Ollama makes of them (envconfig/config.go): it strips blanks and
quotes, and any text but 0, f and false is true. A variable that is not set has Ollama's default.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from apuhost import environment
from apuhost.changes import compose
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.runners import Process
from apuhost.verdicts import Found, Layer, Question, Verdict, judge, service
from apuhost.verdicts.parameter import DEPLOY

CACHE = "LLAMA_ARG_CACHE_RAM"
"""Judged by ollama.prompt_cache alone."""

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "OLLAMA_CONTEXT_LENGTH": "0",
        "OLLAMA_KEEP_ALIVE": "5m",
        "OLLAMA_NO_CLOUD": "0",
        "OLLAMA_NUM_PARALLEL": "1",
        "OLLAMA_VULKAN": "1",
    }
)
"""What Ollama takes where a variable is not set, since 0.30 (which has Vulkan on)."""

_SHOWN_LIVE = re.compile(  # see probes/runners.py
    r"(OLLAMA|LLAMA|GGML|GPU|HIP|HSA|ROCR|RADV|AMD|VK|MESA)_.*|.*_PROXY"
)
_FALSE = frozenset({"", "0", "f", "false"})


def variables(derived: Derived, facts: HostFacts) -> Verdict:
    """Does Ollama's server have the variables that were asked, and no other of its own?"""
    return judge(
        Question("ollama.environment", "Ollama's variables as in the inventory"),
        (
            (Layer.CONFIGURED, lambda: _written(derived, facts)),
            (Layer.BOOTED, lambda: _created(derived, facts)),
            (Layer.LIVE, lambda: _running(derived, facts)),
        ),
    )


def meaning(name: str, value: str) -> str:
    """What Ollama makes of a value: two texts of one meaning are equal."""
    text = value.strip().strip("\"'")
    match environment.VARIABLES.get(name, environment.TEXT):
        case environment.BOOL:
            return str(text.lower() not in _FALSE)
        case environment.NUMBER:
            return text.lstrip("0") or "0"
    return "forever" if name == "OLLAMA_KEEP_ALIVE" and text.startswith("-") else text


def server(derived: Derived, facts: HostFacts) -> Process:
    """Ollama's server process in the container.

    Raises:
        Unreadable: there is none, or no container.
    """
    pid = service.container(derived, facts).pid
    found = [process for process in facts.runners.processes if process.runner is None]
    own = [process for process in found if process.pid == pid]
    # With an init process the container's first one is not the server.
    serving = own or [process for process in found if "serve" in process.argv]
    if not serving:
        raise Unreadable("no process of Ollama's server runs")
    return serving[0]


def _written(derived: Derived, facts: HostFacts) -> Found:
    told = service.written(facts)
    if not told:
        return Found(True, "no compose file of ours")
    return _compared(_wanted(derived), service.environment(told), compose.PATH)


def _created(derived: Derived, facts: HostFacts) -> Found:
    made = service.container(derived, facts)
    return _compared(_wanted(derived), made.environment, f"container {made.name}")


def _running(derived: Derived, facts: HostFacts) -> Found:
    process = server(derived, facts)
    wanted = {name: value for name, value in _wanted(derived).items() if _SHOWN_LIVE.match(name)}
    return _compared(wanted, process.environment, f"/proc/{process.pid}/environ")


def _wanted(derived: Derived) -> dict[str, str]:
    asked = compose.variables(derived)
    return {name: value for name, value in asked.items() if name != CACHE}


def _compared(wanted: Mapping[str, str], found: Mapping[str, str], where: str) -> Found:
    for name, value in wanted.items():
        seen = found.get(name, DEFAULTS.get(name))
        if seen is None or meaning(name, seen) != meaning(name, value):
            shown = f"is {found[name]}" if name in found else "is not set"
            said = f"{name}={found[name]}" if name in found else f"no {name}"
            return Found(False, f"{name} {shown}, not {value}", f"{where} has {said}", DEPLOY)
    for name in sorted(found.keys() - wanted.keys() - {CACHE}):
        if environment.chosen(name):
            said = f"{where} has {name}={found[name]}"
            return Found(False, f"{name} is {found[name]}, and nobody asked", said, DEPLOY)
    return Found(True, f"{len(wanted)} variables as in the inventory")
