"""Who reaches the port: rules in DOCKER-USER, kept by a unit that runs before Docker."""

from ipaddress import ip_network

from apuhost import roles
from apuhost.changes import FileChange, owned
from apuhost.changes.units import not_enabled
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes import daemon_json
from apuhost.settings.ollama import OllamaSettings

UNIT_NAME = "apuhost-firewall.service"
UNIT = f"/etc/systemd/system/{UNIT_NAME}"
PROGRAM = "/usr/local/lib/apuhost/firewall"
CHAIN = "APUHOST-OLLAMA"


def program(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """What sets the rules, where there are rules, or were."""
    return _file(PROGRAM, derived, facts, "sets the rules of ollama_allow_from")


def unit(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The unit that runs it before Docker at every boot."""
    return _file(UNIT, derived, facts)


def _file(
    path: str, derived: Derived, facts: HostFacts, purpose: str = ""
) -> tuple[FileChange, ...]:
    before, asked = facts.units.text(path), derived.settings.ollama
    if not guarded(asked) and before is None:
        return ()
    after = roles.render("ollama", path, {"ollama_rules": rules(asked)})
    return owned(path, before, after, purpose)


def unguarded(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the rules must be set now: they change, are missing, or would not outlive a boot."""
    changing = (*program(derived, facts), *unit(derived, facts))
    if changing:
        return tuple(f"{change.path} changes" for change in changing)
    asked = derived.settings.ollama
    if not guarded(asked):
        return ()
    past = facts.firewall.past(CHAIN, rules(asked))
    missing = (f"{CHAIN} is not in force: {past}",) if past else ()
    return (*missing, *not_enabled(UNIT_NAME, facts))


def guarded(asked: OllamaSettings) -> bool:
    """Whether rules decide who reaches the port: nobody but the host reaches one on loopback."""
    return bool(asked.ollama_allow_from) and not asked.loopback


def powerless(facts: HostFacts) -> str | None:
    """Why no rules in DOCKER-USER could guard a port; None: they can.

    Without rules of its own Docker leaves every connection to docker-proxy, which is past FORWARD.
    With nftables it makes no DOCKER-USER; a jump that is left of it is gone after the next boot
    (Docker's manual, "Docker with nftables").
    """
    values = daemon_json.parse(facts.daemon_json.daemon_json or "").values
    if values.get("iptables") is False:
        return f'{daemon_json.PATH} has "iptables": false'
    if values.get("firewall-backend") == "nftables":
        return f'{daemon_json.PATH} has "firewall-backend": "nftables"'
    if facts.firewall.without_rules:
        return f"dockerd runs with {facts.firewall.without_rules}"
    if (facts.docker.firewall or "").startswith("nftables"):
        return "docker info has the firewall backend nftables"
    return None


def rules(asked: OllamaSettings) -> list[str]:
    """Our chain, as `iptables -S` prints it: who is allowed goes on, anybody else stops.

    Docker rewrites a packet's destination before DOCKER-USER sees it, so the port is that of the
    connection as it came (ctorigdstport), and only of connections that Docker led here (DNAT).
    There are none where nobody but the host reaches the port, and none for IPv6: a port with rules
    is published at an IPv4 address (settings/ollama.py).
    """
    if not guarded(asked):
        return []
    match = f"-p tcp -m conntrack --ctstate DNAT --ctorigdstport {asked.port} --ctdir ORIGINAL"
    networks = [ip_network(each) for each in asked.ollama_allow_from]
    sources = [
        f"-s {network} " if network.prefixlen else ""  # iptables does not print "from anywhere"
        for network in networks
    ]
    allowed = [f"-A {CHAIN} {source}{match} -j RETURN" for source in sources]
    return [*allowed, f"-A {CHAIN} {match} -j DROP"]
