"""systemd units of ours: why one must be enabled and run."""

from apuhost.host_facts import HostFacts


def not_enabled(name: str, facts: HostFacts, at_work: str = "active") -> tuple[str, ...]:
    """Why a unit must be enabled and run: it is not, it failed, or its file was changed.

    `at_work` is the state of one that does its work.
    """
    unit = facts.units.units.get(name)
    if unit is None or unit.unit_file_state != "enabled":
        return (f"it is {(unit.unit_file_state if unit else '') or 'not there'}, not enabled",)
    if unit.active_state != at_work:
        return (f"it is {unit.active_state}",)
    return ("its file was changed since",) if unit.need_daemon_reload else ()
