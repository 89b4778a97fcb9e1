"""ollama.exposure: who can reach the API, which has no login?"""

from collections.abc import Mapping
from typing import Any

from apuhost.changes import compose, port
from apuhost.changes.container import PORT, published
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes import daemon_json
from apuhost.probes.containers import Container, Port
from apuhost.verdicts import Found, Layer, Look, Question, Severity, Status, Verdict, judge, service
from apuhost.verdicts.parameter import DEPLOY

LET_DOCKER = "let Docker use iptables (iptables, firewall-backend), restart it, then deploy"
RESTART = "systemctl restart docker"


def exposure(derived: Derived, facts: HostFacts) -> Verdict:
    """Is the API published as asked, and nowhere else? An open port asked for is worth a word."""
    asked = derived.settings.ollama
    who = f" for {', '.join(asked.ollama_allow_from)}" if port.guarded(asked) else ""
    expected = f"the API at {asked.ollama_listen}{who}"
    looks: tuple[Look, ...] = (
        (Layer.CONFIGURED, lambda: _written(derived, facts)),
        (Layer.BOOTED, lambda: _bound(derived, facts)),
        (Layer.LIVE, lambda: _published(derived, facts)),
        (Layer.LIVE, lambda: _guards(derived, facts)),
        (Layer.EFFECTIVE, lambda: _listens(derived, facts)),
    )
    found = judge(Question("ollama.exposure", expected), looks)
    if found.status is not Status.PASS or asked.loopback or not asked.everybody:
        return found
    return judge(
        Question("ollama.exposure", "a port that not everybody reaches", Severity.RECOMMENDED),
        ((Layer.EFFECTIVE, lambda: _open(derived)),),
    )


def _written(derived: Derived, facts: HostFacts) -> Found:
    told = service.written(facts)
    if not told:
        return Found(True, "no compose file of ours")
    ports, wanted = told.get("ports"), service.wanted(derived, facts).get("ports")
    if ports == wanted:
        return Found(True, derived.settings.ollama.ollama_listen)
    shown = ", ".join(map(str, ports)) if isinstance(ports, list) else ports
    return Found(
        False, f"the port is {shown or 'not published'}", f"{compose.PATH}: ports: {shown}", DEPLOY
    )


def _bound(derived: Derived, facts: HostFacts) -> Found:
    made = service.container(derived, facts)
    if made.network_mode == "host":
        said = f"docker inspect {made.name}: NetworkMode host"
        return Found(False, "it listens on the host's own network", said, DEPLOY)
    return _at(derived, made.ports, f"docker inspect {made.name}: PortBindings")


def _published(derived: Derived, facts: HostFacts) -> Found:
    made = _running(derived, facts)
    return _at(derived, made.published, f"docker port {made.name}:")


def _running(derived: Derived, facts: HostFacts) -> Container:
    made = service.container(derived, facts)
    if not made.running:
        raise Unreadable(f"container {made.name} is {made.status}: nothing is published")
    return made


def _at(derived: Derived, ports: tuple[Port, ...], where: str) -> Found:
    """Every published address is the asked one: no address at all is every one, of IPv6 too."""
    asked = derived.settings.ollama
    shown = ", ".join(map(published, ports)) or "none"
    for each in ports:
        if each.container != PORT or each.host_ip != asked.address:
            return Found(False, f"published at {shown}", f"{where} {shown}", DEPLOY)
    if not ports:
        return Found(False, "the port is not published", f"{where} none", DEPLOY)
    return Found(True, f"published at {shown}")


def _guards(derived: Derived, facts: HostFacts) -> Found:
    """Every packet to the port is forwarded, and meets our rules before one that accepts it."""
    asked = derived.settings.ollama
    if not port.guarded(asked):
        return Found(True, "no rules asked")
    if said := port.powerless(facts):
        return Found(False, "Docker leads no packet to our rules", said, LET_DOCKER)
    if facts.firewall.chains is None:
        raise Unreadable("iptables is not there, or does not answer")
    if past := facts.firewall.past(port.CHAIN, port.rules(asked)):
        words = "others than asked may reach the port"
        return Found(False, words, f"iptables -S: {past}", DEPLOY)
    _running(derived, facts)  # else Docker leads the port nowhere
    if asked.port not in facts.firewall.led:
        words = "docker-proxy takes every connection to the port, past our rules"
        return Found(False, words, f"iptables -t nat -S DOCKER has no {asked.port}", RESTART)
    return _kept(facts)


def _kept(facts: HostFacts) -> Found:
    found = facts.units.units.get(port.UNIT_NAME)
    if found is None or found.unit_file_state != "enabled":
        state = (found.unit_file_state if found else "") or "not there"
        said = f"systemctl is-enabled {port.UNIT_NAME}: {state}"
        return Found(False, "the rules do not outlive a boot", said, DEPLOY)
    return Found(True, f"{port.CHAIN} in force")


def _listens(derived: Derived, facts: HostFacts) -> Found:
    """docker-proxy's sockets; without it (userland-proxy false) there are none to see."""
    asked = derived.settings.ollama
    if facts.firewall.listening is None:
        raise Unreadable("ss is not there: who listens is not known")
    found = [each for each in facts.firewall.listening if each.port == asked.port]
    for each in found:
        if each.address != asked.address:
            said = f"ss -ltn has {each.address}:{each.port}"
            return Found(False, f"something listens at {each.address}:{each.port}", said, DEPLOY)
    name = _running(derived, facts).name
    if not found and _daemon(facts).get("userland-proxy") is not False:
        said = f"ss -ltn has no port {asked.port}"
        return Found(False, "nothing listens on the port", said, f"docker restart {name}")
    return Found(True, _reached(derived))


def _daemon(facts: HostFacts) -> Mapping[str, Any]:
    """The settings of daemon.json; none of a broken one."""
    return daemon_json.parse(facts.daemon_json.daemon_json or "").values


def _reached(derived: Derived) -> str:
    asked = derived.settings.ollama
    idle = "; ollama_allow_from does nothing there" if asked.ollama_allow_from else ""
    if asked.loopback:
        return f"{asked.ollama_listen}, reached by the host alone{idle}"
    who = "everybody" if asked.everybody else ", ".join(asked.ollama_allow_from)
    return f"{asked.ollama_listen}, reached by {who}"


def _open(derived: Derived) -> Found:
    asked = derived.settings.ollama
    words = f"everybody who reaches {asked.ollama_listen} may use it"
    networks = "has all of IPv4" if asked.ollama_allow_from else "is empty"
    said = f"the API has no login, and ollama_allow_from {networks}"
    return Found(False, words, said, "name networks in ollama_allow_from, then deploy")
