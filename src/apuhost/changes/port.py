"""Who reaches the port: rules in DOCKER-USER, kept by a unit that runs before Docker."""

from ipaddress import ip_network

from apuhost import roles
from apuhost.changes import FileChange, owned
from apuhost.changes.units import not_enabled
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.settings.ollama import OllamaSettings

UNIT_NAME = "apuhost-firewall.service"
UNIT = f"/etc/systemd/system/{UNIT_NAME}"
PROGRAM = "/usr/local/lib/apuhost/firewall"
CHAIN = "APUHOST-OLLAMA"


def program(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """What sets the rules, where there are rules, or were."""
    return _file(PROGRAM, derived, facts)


def unit(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The unit that runs it before Docker at every boot."""
    return _file(UNIT, derived, facts)


def _file(path: str, derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    before, asked = facts.units.text(path), derived.settings.ollama
    if not asked.ollama_allow_from and before is None:
        return ()
    values = {"ollama_rules": rules(asked, 4), "ollama_rules6": rules(asked, 6)}
    return owned(path, before, roles.render("ollama", path, values))


def unguarded(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the rules must be set now: they change, are missing, or would not outlive a boot."""
    changing = (*program(derived, facts), *unit(derived, facts))
    if changing:
        return tuple(f"{change.path} changes" for change in changing)
    asked = derived.settings.ollama
    if not asked.ollama_allow_from:
        return ()
    missing = () if facts.firewall.guards(CHAIN, rules(asked, 4)) else (f"{CHAIN} is not in force",)
    return (*missing, *not_enabled(UNIT_NAME, facts))


def rules(asked: OllamaSettings, version: int) -> list[str]:
    """Our chain, as `iptables -S` prints it: who is allowed goes on, anybody else stops.

    Docker rewrites a packet's destination before DOCKER-USER sees it, so the port is that of the
    connection as it came (ctorigdstport), and only of connections that Docker led here (DNAT).
    """
    match = f"-p tcp -m conntrack --ctstate DNAT --ctorigdstport {asked.port} --ctdir ORIGINAL"
    networks = [ip_network(each) for each in asked.ollama_allow_from]
    if not networks:
        return []
    sources = [
        f"-s {network} " if network.prefixlen else ""  # iptables does not print "from anywhere"
        for network in networks
        if network.version == version
    ]
    allowed = [f"-A {CHAIN} {source}{match} -j RETURN" for source in sources]
    return [*allowed, f"-A {CHAIN} {match} -j DROP"]
