"""Who can reach the API: each way in that was not asked for, at the first layer that shows it."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.support import stack
from tests.support.hosts import host_facts, rendered, settings, unit_files
from tests.support.verdicts import also, failing, verdict

from apuhost.changes import compose, port
from apuhost.host_facts import HostFacts
from apuhost.probes.files import TextFile, frame
from apuhost.verdicts import Layer, Severity, Status

CONFIGURED, BOOTED, LIVE, EFFECTIVE = Layer
COMPOSE = rendered()[compose.PATH]

LAN = "192.0.2.10"
LISTEN = {"ollama_listen": f"{LAN}:11434"}
GUARDED = {**LISTEN, "ollama_allow_from": ["192.0.2.0/24"]}
MATCH = "-p tcp -m conntrack --ctstate DNAT --ctorigdstport 11434 --ctdir ORIGINAL"
RULES = (
    "-N APUHOST-OLLAMA",
    f"-A APUHOST-OLLAMA -s 192.0.2.0/24 {MATCH} -j RETURN",
    f"-A APUHOST-OLLAMA {MATCH} -j DROP",
    "-A DOCKER-USER -j APUHOST-OLLAMA",
)
SOCKETS = ("0.0.0.0:22", f"{LAN}:11434")


def published(
    address: str = LAN,
    *sockets: str,
    rules: tuple[str, ...] = RULES,
    unit: Mapping[str, str] | None = None,
    **way: Any,  # noqa: ANN401
) -> HostFacts:
    """A host that publishes the port at another address, with these rules on its way there."""
    files = {**unit_files(), port.UNIT: "", port.PROGRAM: ""}
    written = COMPOSE.replace("127.0.0.1:11434:", f"{address}:11434:")
    return host_facts(
        compose=stack.framed({compose.PATH: written}),
        containers=stack.containers(stack.container(**stack.at(address)), stack.image()),
        firewall=stack.firewall(*(sockets or SOCKETS), rules=rules, **way),
        units=stack.units(files, changed={"apuhost-firewall": unit or {}}),
        ollama_api=stack.ollama_api(stack.loaded(), address=f"{address}:11434"),
    )


def test_a_guarded_port_passes_and_says_who_reaches_it() -> None:
    found = verdict(published(), "ollama.exposure", **GUARDED)
    assert found.status is Status.PASS
    assert found.observed == f"{LAN}:11434, reached by 192.0.2.0/24"


def test_an_open_port_that_was_asked_for_is_worth_a_word() -> None:
    found = verdict(published(rules=()), "ollama.exposure", **LISTEN)
    assert (found.status, found.severity) == (Status.FAIL, Severity.RECOMMENDED)
    assert "everybody who reaches 192.0.2.10:11434" in found.observed


def composed(old: str, new: str) -> HostFacts:
    """A host whose compose file was edited by hand."""
    return host_facts(compose=stack.framed({compose.PATH: COMPOSE.replace(old, new)}))


def made(**changes: Any) -> HostFacts:  # noqa: ANN401
    """A host whose container is another in some members."""
    return host_facts(containers=stack.containers(stack.container(**changes), stack.image()))


EXPOSED = [
    pytest.param(
        composed('"127.0.0.1:11434:11434"', '"11434:11434"'),
        {},
        CONFIGURED,
        f"{compose.PATH}: ports: 11434:11434",
        id="compose file edited",
    ),
    pytest.param(
        made(**stack.at("")),
        {},
        BOOTED,
        "PortBindings every address:11434",
        id="made for every address",
    ),
    pytest.param(made(**stack.at("0.0.0.0")), {}, BOOTED, "every address", id="for IPv4"),
    pytest.param(made(network_mode="host"), {}, BOOTED, "NetworkMode host", id="host network"),
    pytest.param(
        made(published=stack.at("0.0.0.0")["published"]),
        {},
        LIVE,
        "docker port ollama: every address:11434",
        id="published elsewhere",
    ),
    pytest.param(
        host_facts(firewall=stack.firewall("0.0.0.0:22", "*:11434")),
        {},
        EFFECTIVE,
        "ss -ltn has :::11434",
        id="something listens everywhere",
    ),
    pytest.param(
        host_facts(firewall=stack.firewall("0.0.0.0:22")),
        {},
        EFFECTIVE,
        "ss -ltn has no port 11434",
        id="nothing listens",
    ),
    pytest.param(
        published(rules=("-N APUHOST-OLLAMA", "-A DOCKER-USER -j APUHOST-OLLAMA")),
        GUARDED,
        LIVE,
        "iptables -S: APUHOST-OLLAMA has other rules",
        id="rules flushed",
    ),
    pytest.param(
        published(rules=RULES[:-1]),
        GUARDED,
        LIVE,
        "iptables -S: DOCKER-USER does not lead to APUHOST-OLLAMA",
        id="not led to them",
    ),
    pytest.param(
        published(rules=(*RULES[:-1], "-A DOCKER-USER -j ACCEPT", RULES[-1])),
        GUARDED,
        LIVE,
        "iptables -S: -A DOCKER-USER -j ACCEPT comes before APUHOST-OLLAMA",
        id="let through before",
    ),
    pytest.param(
        published(forward=()),
        GUARDED,
        LIVE,
        "iptables -S: FORWARD does not lead to DOCKER-USER",
        id="FORWARD flushed",
    ),
    pytest.param(
        published(forward=("-A FORWARD -i wg0 -j ACCEPT", "-A FORWARD -j DOCKER-USER")),
        GUARDED,
        LIVE,
        "iptables -S: -A FORWARD -i wg0 -j ACCEPT comes before DOCKER-USER",
        id="let through before DOCKER-USER",
    ),
    pytest.param(
        published(led="80"),
        GUARDED,
        LIVE,
        "iptables -t nat -S DOCKER has no 11434",
        id="nat table flushed",
    ),
    pytest.param(
        also(published(), daemon_json=stack.daemon_json({**stack.DAEMON_JSON, "iptables": False})),
        GUARDED,
        LIVE,
        '"iptables": false',
        id="Docker without rules of its own",
    ),
    pytest.param(
        published(flags="--iptables=false"),
        GUARDED,
        LIVE,
        "dockerd runs with --iptables=false",
        id="Docker without them by a flag",
    ),
    pytest.param(
        also(
            published(),
            daemon_json=stack.daemon_json({**stack.DAEMON_JSON, "firewall-backend": "nftables"}),
        ),
        GUARDED,
        LIVE,
        '"firewall-backend": "nftables"',
        id="Docker with nftables, by its file",
    ),
    pytest.param(
        also(published(), docker=stack.docker(FirewallBackend={"Driver": "nftables+firewalld"})),
        GUARDED,
        LIVE,
        "docker info has the firewall backend nftables",
        id="Docker with nftables",
    ),
    pytest.param(
        published(unit={"UnitFileState": "disabled"}),
        GUARDED,
        LIVE,
        "is-enabled apuhost-firewall.service: disabled",
        id="gone after the next boot",
    ),
]


@pytest.mark.parametrize(("facts", "asked", "layer", "evidence"), EXPOSED)
def test_a_port_that_is_open_otherwise_than_asked(
    facts: HostFacts, asked: dict[str, Any], layer: Layer, evidence: str
) -> None:
    found = verdict(facts, "ollama.exposure", **asked)
    assert failing(found) == (Status.FAIL, layer)
    assert found.severity is Severity.REQUIRED
    assert evidence in found.evidence
    assert found.fix


@pytest.mark.parametrize(
    "facts",
    [
        published(rules=(), forward=(), led="", flags="--iptables=false"),
        also(published(), docker=stack.docker(FirewallBackend={"Driver": "nftables"})),
    ],
)
def test_without_networks_no_guard_is_judged(facts: HostFacts) -> None:
    found = verdict(facts, "ollama.exposure", **LISTEN)
    assert (found.status, found.severity) == (Status.FAIL, Severity.RECOMMENDED)
    loopback = verdict(host_facts(), "ollama.exposure", ollama_allow_from=["192.0.2.0/24"])
    assert loopback.status is Status.PASS
    assert "the host alone; ollama_allow_from does nothing there" in loopback.observed


def test_networks_that_are_all_of_ipv4_are_worth_the_same_word_as_none() -> None:
    asked = {**LISTEN, "ollama_allow_from": ["0.0.0.0/0"]}
    chain = (RULES[0], *port.rules(settings(**asked).ollama), RULES[-1])
    found = verdict(published(rules=chain), "ollama.exposure", **asked)
    assert (found.status, found.severity) == (Status.FAIL, Severity.RECOMMENDED)
    assert found.evidence == "the API has no login, and ollama_allow_from has all of IPv4"


def test_a_port_of_a_stopped_container_is_led_nowhere_and_that_is_no_hole() -> None:
    stopped = stack.container(**stack.at(LAN), running=False, status="exited")
    facts = also(published(led=""), containers=stack.containers(stopped, stack.image()))
    found = verdict(facts, "ollama.exposure", **GUARDED)
    assert (found.status, found.layer) == (Status.UNKNOWN, LIVE)
    assert "exited" in found.reason


def test_an_ipv6_address_is_published_as_asked() -> None:
    asked = {"ollama_listen": "[::]:11434"}
    written = COMPOSE.replace("127.0.0.1:11434:", "[::]:11434:")
    facts = also(
        published("::", "[::]:11434", rules=()),
        compose=stack.framed({compose.PATH: written}),
    )
    found = verdict(facts, "ollama.exposure", **asked)
    assert (found.status, found.severity) == (Status.FAIL, Severity.RECOMMENDED)
    elsewhere = also(facts, firewall=stack.firewall("*:11434", "127.0.0.1:11434"))
    assert failing(verdict(elsewhere, "ollama.exposure", **asked)) == (Status.FAIL, EFFECTIVE)


def test_without_dockers_proxy_no_socket_shows() -> None:
    values = {**stack.DAEMON_JSON, "userland-proxy": False}
    facts = host_facts(daemon_json=stack.daemon_json(values), firewall=stack.firewall("0.0.0.0:22"))
    assert verdict(facts, "ollama.exposure").status is Status.PASS


def test_a_host_without_iptables_cannot_tell() -> None:
    bare = frame((TextFile("ss", f"LISTEN 0 1 {LAN}:11434 *:*"), TextFile("end", "")))
    found = verdict(also(published(), firewall=bare), "ollama.exposure", **GUARDED)
    assert (found.status, found.layer) == (Status.UNKNOWN, LIVE)
    assert "iptables" in found.reason
