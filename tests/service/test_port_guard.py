"""The program that guards the port, as the role renders it, under the real iptables.

It runs in a network namespace of its own: nothing here touches the machine's rules.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.hosts import settings

from apuhost import roles
from apuhost.changes import port
from apuhost.probes import firewall
from apuhost.settings.ollama import OllamaSettings

needs_namespaces = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    *(
        pytest.mark.skipif(not shutil.which(name), reason=f"{name} is not here")
        for name in ("iptables", "unshare", "nsenter", "ip")
    ),
]
pytestmark = needs_namespaces

PUBLISHED = 8434
FIRST = "-A FORWARD -j DOCKER-USER"
JUMP = f"-A DOCKER-USER -j {port.CHAIN}"
SITE = ("192.0.2.0/24", "198.51.100.7")


def asked(*networks: str) -> OllamaSettings:
    return settings(ollama_listen=f"192.0.2.10:{PUBLISHED}", ollama_allow_from=[*networks]).ollama


class Namespace:
    """Commands to run one after the other in a new network namespace; a failure ends them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commands: list[str] = []

    def __call__(self, *commands: str) -> "Namespace":
        """Add commands."""
        self.commands += commands
        return self

    def guard(self, *networks: str) -> "Namespace":
        """Run the program for these networks."""
        rules = {"ollama_rules": port.rules(asked(*networks))}
        program = self.folder / f"firewall-{len(self.commands)}"
        program.write_text(roles.render("ollama", port.PROGRAM, rules))
        return self(f"sh {program}")

    def run(self) -> str:
        """What the commands print."""
        done = subprocess.run(
            ["unshare", "-n", "sh", "-ec", "\n".join(self.commands)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def rules(self, chain: str) -> list[str]:
        """The chain's rules at the end, as iptables prints them."""
        return self(f"iptables -S {chain}").run().splitlines()[1:]

    def read(self) -> tuple[list[str], firewall.Firewall]:
        """Words that the commands print, and what the probe tells at the end."""
        printed = self("set +e", "echo told:", f"({firewall.COMMAND}) 2>/dev/null").run()
        said, _, told = printed.partition("told:\n")
        return said.split(), firewall.parse(told)


@pytest.fixture
def namespace(tmp_path: Path) -> Namespace:
    return Namespace(tmp_path)


NETWORKS = [
    pytest.param(SITE, id="a site"),
    pytest.param(("10.0.0.0/8",), id="one network"),
    pytest.param(("0.0.0.0/0",), id="everybody"),
    pytest.param(("192.0.2.10/32", "192.0.2.0/24"), id="an address in a network"),
    pytest.param((), id="nobody is named"),
]


@pytest.mark.parametrize("networks", NETWORKS)
def test_the_rules_are_as_iptables_prints_them(
    namespace: Namespace, networks: tuple[str, ...]
) -> None:
    assert namespace.guard(*networks).rules(port.CHAIN) == port.rules(asked(*networks))


def test_the_probe_finds_the_port_guarded(namespace: Namespace) -> None:
    _, found = namespace.guard(*SITE).read()
    assert found.past(port.CHAIN, port.rules(asked(*SITE))) is None


def test_a_second_run_changes_nothing(namespace: Namespace) -> None:
    once = namespace.guard(*SITE)("iptables -S").run()
    assert namespace.guard(*SITE)("iptables -S").run() == once + once


def test_other_networks_take_the_place_of_the_first(namespace: Namespace) -> None:
    found = namespace.guard(*SITE).guard("10.0.0.0/8").rules(port.CHAIN)
    assert found == port.rules(asked("10.0.0.0/8"))


def test_without_networks_nothing_is_left_of_the_rules(namespace: Namespace) -> None:
    assert namespace.guard(*SITE).guard().rules(port.CHAIN) == []


OPERATORS = "-A DOCKER-USER -s 203.0.113.0/24 -j DROP"
DOCKERS = "-A DOCKER-USER -j RETURN"


def test_rules_that_were_there_before_stay_behind_ours(namespace: Namespace) -> None:
    namespace("iptables -N DOCKER-USER", f"iptables {OPERATORS}", f"iptables {DOCKERS}")
    found = namespace.guard(*SITE).rules("DOCKER-USER")
    assert found == [JUMP, OPERATORS, DOCKERS]


def test_dockers_own_return_may_come_later(namespace: Namespace) -> None:
    namespace.guard(*SITE)(f"iptables {DOCKERS}").guard(*SITE)
    assert namespace.rules("DOCKER-USER") == [JUMP, DOCKERS]


def test_a_rule_that_came_before_ours_no_longer_lets_anybody_past(namespace: Namespace) -> None:
    later = ("DOCKER-USER -s 203.0.113.0/24 -j RETURN", "FORWARD -i wg0 -j ACCEPT")
    namespace.guard(*SITE)(*(f"iptables -I {rule}" for rule in later))
    _, found = namespace.guard(*SITE).read()
    assert found.chains
    assert found.chains["DOCKER-USER"] == (JUMP, f"-A {later[0]}")
    assert found.chains["FORWARD"] == (FIRST, f"-A {later[1]}")
    assert found.past(port.CHAIN, port.rules(asked(*SITE))) is None


def test_a_way_that_somebody_flushed_is_there_again(namespace: Namespace) -> None:
    for flushed in ("-F FORWARD", "-F DOCKER-USER", "-F"):
        namespace.guard(*SITE)(f"iptables {flushed}")
    assert namespace.guard(*SITE).rules("FORWARD") == [FIRST]
    assert namespace.rules("DOCKER-USER")[-1:] == [JUMP]


def test_rules_that_iptables_refuses_leave_the_old_ones(
    namespace: Namespace, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong"
    values = {"ollama_rules": [f"-A {port.CHAIN} -s nowhere.invalid -j RETURN"]}
    wrong.write_text(roles.render("ollama", port.PROGRAM, values))
    namespace.guard(*SITE)(f"if sh {wrong} 2>/dev/null; then exit 3; fi")
    assert namespace.rules(port.CHAIN) == port.rules(asked(*SITE))


SERVER = """
import socket
with socket.create_server(("", 11434)) as listening:
    while True:
        listening.accept()[0].sendall(b"hello")
"""
CLIENT = """
import socket, sys
try:
    with socket.create_connection(("192.0.2.10", int(sys.argv[2])), 1, (sys.argv[1], 0)) as server:
        print(server.recv(5).decode())
except OSError:
    print("nothing")
"""
# A container behind Docker's own rules (two published ports), and a client with two addresses.
NETWORK = """
trap 'kill $container $client' EXIT
unshare -n sleep 60 >/dev/null & container=$!
unshare -n sleep 60 >/dev/null & client=$!
sleep 0.5
ip link add name docker0 type veth peer name eth0 netns $container
ip link add name lan0 type veth peer name eth0 netns $client
ip address add 172.18.0.1/16 dev docker0
ip address add 192.0.2.10/24 dev lan0
ip address add 203.0.113.1/24 dev lan0
ip link set docker0 up; ip link set lan0 up
in_container="nsenter -t $container -n" in_client="nsenter -t $client -n"
$in_container ip address add 172.18.0.2/16 dev eth0
$in_container ip link set eth0 up
$in_container ip route add default via 172.18.0.1
$in_client ip address add 192.0.2.77/24 dev eth0
$in_client ip address add 203.0.113.77/24 dev eth0
$in_client ip link set eth0 up
echo 1 >/proc/sys/net/ipv4/ip_forward
"""
DOCKER = """
$iptables -t nat -N DOCKER
$iptables -t nat -A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
for published in 8434 9434; do
  $iptables -t nat -A DOCKER -p tcp --dport $published -j DNAT --to-destination 172.18.0.2:11434
done
$iptables -N DOCKER-USER
$iptables -A DOCKER-USER -j RETURN
$iptables -A FORWARD -j DOCKER-USER
$iptables -A FORWARD -o docker0 -j ACCEPT
"""


@pytest.fixture
def box(namespace: Namespace, tmp_path: Path) -> Namespace:
    """A container that answers; `$ask ADDRESS PORT` is a client that asks."""
    server, client = tmp_path / "server.py", tmp_path / "client.py"
    server.write_text(SERVER)
    client.write_text(CLIENT)
    namespace(NETWORK, f"$in_container {sys.executable} {server} >/dev/null & server=$!", "sleep 1")
    namespace("trap 'kill $server $container $client' EXIT")
    return namespace(f'ask="$in_client {sys.executable} {client}"')


ALLOWED, STRANGER = f"$ask 192.0.2.77 {PUBLISHED}", f"$ask 203.0.113.77 {PUBLISHED}"


def test_who_is_allowed_is_answered_and_nobody_else(box: Namespace) -> None:
    box("iptables=iptables", DOCKER, STRANGER).guard("192.0.2.0/24")
    said, found = box(ALLOWED, STRANGER, "$ask 203.0.113.77 9434").read()
    assert said == ["hello", "hello", "nothing", "hello"]
    assert found.led == {PUBLISHED, 9434}
    assert found.past(port.CHAIN, port.rules(asked("192.0.2.0/24"))) is None


ISOLATION = "iptables -N DOCKER-ISOLATION-STAGE-1; iptables -I FORWARD -j DOCKER-ISOLATION-STAGE-1"
ESTABLISHED = "iptables -I FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"
LATER = [
    pytest.param("iptables -F FORWARD", True, id="FORWARD flushed"),
    pytest.param("iptables -I FORWARD -i lan0 -j ACCEPT", True, id="let through before"),
    pytest.param("iptables -I DOCKER-USER -i lan0 -j RETURN", True, id="sent back before"),
    pytest.param("iptables -I FORWARD -p udp -j ACCEPT", False, id="other packets"),
    pytest.param(ESTABLISHED, False, id="connections that are there"),
    pytest.param(ISOLATION, False, id="Docker's isolation"),
    pytest.param("iptables -A FORWARD -j ACCEPT", False, id="let through later"),
]


@pytest.mark.parametrize(("rule", "passes"), LATER)
def test_the_probe_tells_whether_a_stranger_gets_past(
    box: Namespace, rule: str, passes: bool
) -> None:
    box("iptables=iptables", DOCKER).guard("192.0.2.0/24")
    said, found = box(rule, STRANGER).read()
    assert said == ["hello" if passes else "nothing"]
    assert bool(found.past(port.CHAIN, port.rules(asked("192.0.2.0/24")))) is passes


@pytest.mark.skipif(not shutil.which("iptables-legacy"), reason="iptables-legacy is not here")
def test_rules_guard_a_port_that_docker_leads_by_the_other_iptables(box: Namespace) -> None:
    if "nf_tables" not in subprocess.check_output(["iptables", "-V"], text=True):
        pytest.skip("iptables is the legacy one")
    box("iptables=iptables-legacy", DOCKER, STRANGER).guard("192.0.2.0/24")
    said, found = box(ALLOWED, STRANGER).read()
    assert said == ["hello", "hello", "nothing"]
    assert found.led == {PUBLISHED, 9434}
    assert found.past(port.CHAIN, port.rules(asked("192.0.2.0/24"))) is None


def test_a_port_that_docker_leads_no_more_is_told(box: Namespace) -> None:
    box("iptables=iptables", DOCKER).guard("192.0.2.0/24")
    _, found = box("iptables -t nat -F PREROUTING").read()
    assert found.led == frozenset()
