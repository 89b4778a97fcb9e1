"""What a host takes back that served a bundle and is asked to no more: it must not listen.

Its bundles stay, and the CA, whose key cannot be made again: other hosts may still trust it.
"""

from apuhost.changes import Action, FileChange, owned
from apuhost.changes.serving import FILES_UNIT, REGISTRY_UNIT, serves
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.mirror import OURS
from apuhost.probes.mirror_serving import FILES, FILES_CONF, REGISTRY, REGISTRY_CONF, STORE

_AT_REST = ("inactive", "failed")


def files(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The units and what they read; they go once both are stopped."""
    if serves(derived):
        return ()
    found = {path: facts.units.text(path) for path in (FILES_UNIT, REGISTRY_UNIT)}
    found |= {path: facts.mirror.text(path) for path in (FILES_CONF, REGISTRY_CONF)}
    ours = {path: text for path, text in found.items() if text and text.startswith(OURS)}
    return tuple(change for path, text in ours.items() for change in owned(path, text, ""))


def actions(derived: Derived, facts: HostFacts) -> tuple[Action, ...]:
    """Each unit that runs, or would after the next boot."""
    states = {} if serves(derived) else {name: _states(name, facts) for name in (FILES, REGISTRY)}
    return tuple(
        Action(name, "stopped and disabled", (f"mirror_serve is off, and it is {found}",))
        for name, found in states.items()
        if found
    )


def notes(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """What stays, where something goes."""
    if not (files(derived, facts) or actions(derived, facts)):
        return ()
    return (f"bundles and the CA with its key stay: rm -r {STORE} when no host needs them",)


def _states(name: str, facts: HostFacts) -> str:
    unit = facts.units.units.get(name)
    if unit is None:
        return ""
    runs = "" if unit.active_state in _AT_REST else unit.active_state
    return " and ".join(
        filter(None, (runs, "enabled" if unit.unit_file_state == "enabled" else ""))
    )
