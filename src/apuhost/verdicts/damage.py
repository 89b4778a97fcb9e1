"""Saved facts that cannot be what a host printed."""

from apuhost.host_facts import HostFacts, Unreadable
from apuhost.round_trip import PROBES


def damage(facts: HostFacts) -> str:
    """That most of what was saved cannot be read; "" where it can, and for a host that answers."""
    unread = [name for name in PROBES if not _is_readable(facts, name)] if facts.saved else []
    if 2 * len(unread) <= len(PROBES):
        return ""
    count = f"{len(unread)} of {len(PROBES)} files cannot be read"
    return f"{count}: the folder looks damaged, save the facts again"


def _is_readable(facts: HostFacts, probe: str) -> bool:
    try:
        getattr(facts, probe)
    except Unreadable:
        return False
    return True
