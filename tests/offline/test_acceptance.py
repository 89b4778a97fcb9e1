"""A host that was cut off: what is read of it, and what is said of that."""

from dataclasses import replace
from ipaddress import ip_network

import pytest
from tests.support import stack
from tests.support.hosts import host_facts, settings
from tests.support.verdicts import also

from apuhost.bundle import accepting
from apuhost.bundle.accepting import AcceptError
from apuhost.changes import cut
from apuhost.changes.cut import Passage
from apuhost.host_facts import HostFacts
from apuhost.probes import ParseError, outbound
from apuhost.probes.outbound import CHAIN, Attempt, Network
from apuhost.verdicts import Status, Verdict, acceptance

RULES = f"""\
rule iptables POSTROUTING -c 40 2400 -j {CHAIN}
rule iptables {CHAIN} -o lo -c 9 540 -j RETURN
rule iptables {CHAIN} -m hashlimit --hashlimit-upto 6/min -c 2 120 -j LOG --log-level 6
rule iptables {CHAIN} -c 0 0 -j DROP
rule ip6tables POSTROUTING -c 4 240 -j {CHAIN}
rule ip6tables {CHAIN} -c 0 0 -j DROP
"""
NETWORKS = f"""\
network {"a" * 64} bridge 0 docker0
network {"b" * 64} host 0
network {"c" * 64} bridge 1
"""
HEAD = f"""\
system running
unit active
inet6 yes
tool iptables
tool ip6tables
hosts 127.0.0.1 localhost
hosts 192.0.2.2 mirror.site  mirror
{NETWORKS}"""
TCP = (
    "IN= OUT=eth0 SRC=192.0.2.10 DST=198.51.100.7 LEN=60 TOS=0x00 PREC=0x00 TTL=64 ID=40255 DF "
    "PROTO=TCP SPT=46316 DPT=443 WINDOW=64240 RES=0x00 SYN URGP=0 UID=0 GID=0 "
)
UDP = "IN= OUT=eth0 SRC=192.0.2.10 DST=198.51.100.8 LEN=29 PROTO=UDP SPT=43038 DPT=53 LEN=9 UID=991"
PING = "IN= OUT=eth0 SRC=192.0.2.10 DST=198.51.100.9 LEN=84 PROTO=ICMP TYPE=8 CODE=0 ID=7 SEQ=1"
CURL = " CGROUP=/system.slice/apt-daily.service BY=http client"


def text(*attempts: str, rules: str = RULES, head: str = HEAD, dropped: int = 0) -> str:
    """What the probe prints."""
    lines = "".join(f"attempt {each}\n" for each in attempts)
    counted = rules.replace("-c 0 0 -j DROP", f"-c {dropped} 60 -j DROP")
    return f"{head}{counted}{lines}end\n"


def test_an_attempt_is_read_with_its_process() -> None:
    found = outbound.parse(text(TCP + CURL, TCP + CURL, UDP, PING))
    assert found.attempts == (
        Attempt("198.51.100.7", 443, "TCP", "192.0.2.10", 0, "http client",
                "/system.slice/apt-daily.service"),
        Attempt("198.51.100.8", 53, "UDP", "192.0.2.10", 991),
        Attempt("198.51.100.9", None, "ICMP", "192.0.2.10"),
    )  # fmt: skip


def test_a_network_of_docker_is_known_by_its_bridge() -> None:
    expected = (Network("bridge", 0, "docker0"), Network("host", 0, ""),
                Network("bridge", 1, f"br-{'c' * 12}"))  # fmt: skip
    assert outbound.parse(text()).networks == expected


def test_what_was_cut_off_in_the_middle_is_no_answer() -> None:
    with pytest.raises(ParseError):
        outbound.parse(HEAD + RULES)


OPEN = [
    pytest.param(RULES, True, (), id="cut"),
    pytest.param(RULES.replace(f"-j {CHAIN}", "-j ACCEPT"), True, ("iptables", "ip6tables"),
                 id="another rule comes first"),
    pytest.param("", True, ("iptables", "ip6tables"), id="no rules"),
    pytest.param(RULES.partition("rule ip6")[0], True, ("ip6tables",), id="IPv6 is open"),
    pytest.param(RULES.partition("rule ip6")[0], False, (), id="there is no IPv6"),
    pytest.param(RULES.replace("-j DROP", "-j ACCEPT"), True, ("iptables", "ip6tables"),
                 id="nothing is dropped"),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "inet6", "expected"), OPEN)
def test_a_way_that_is_open_is_told(rules: str, inet6: bool, expected: tuple[str, ...]) -> None:
    head = HEAD if inet6 else HEAD.replace("inet6 yes\n", "")
    assert outbound.parse(text(rules=rules, head=head)).uncut == expected


def test_the_mirror_is_let_through_by_its_address_and_ports() -> None:
    found = outbound.parse(text())
    for address in ("192.0.2.2", "mirror", "mirror.site"):
        asked = settings(mirror_address=address, mirror_files_port=9443).mirror
        passage = cut.passage(asked, found, ())
        assert [str(each) for each in passage.mirror] == ["192.0.2.2"]
        assert passage.ports == (5000, 9443)
        assert passage.bridges == (f"br-{'c' * 12}", "docker0")


def test_what_is_allowed_is_let_through_in_its_own_family() -> None:
    allowed = (ip_network("192.0.2.53"), ip_network("2001:db8::/32"))
    passage = Passage((), (), (), allowed)
    assert f"-A {CHAIN} -d 192.0.2.53/32 -j RETURN" in cut.rules(passage)
    assert f"-A {CHAIN} -d 2001:db8::/32 -j RETURN" in cut.rules_6(passage)
    assert not any("2001" in rule for rule in cut.rules(passage))
    assert not any("192.0.2" in rule for rule in cut.rules_6(passage))


def test_the_host_is_let_out_by_itself_before_it_is_cut_off() -> None:
    script = cut.begin(Passage((), (), ()))
    order = [f"restart {cut.TIMER}", "restart apuhost-cut.service", "enable"]
    assert sorted(order, key=script.index) == order
    timer = cut.files(Passage((), (), ()))[cut.UNITS[-1]]
    assert f"OnActiveSec={cut.MINUTES}min" in timer


@pytest.mark.parametrize("word", ["nowhere", "192.0.2.1/24", ""])
def test_what_is_no_network_is_not_let_through(word: str) -> None:
    with pytest.raises(AcceptError, match="--allow"):
        accepting.networks((word,))


ID = "d" * 64
BOOTED = "2d50da51-0000-4000-8000-000000000001"
NEXT = "2d50da51-0000-4000-8000-000000000002"


def before(**changed: str) -> HostFacts:
    return also(host_facts(), outbound=text(), **changed)


def after(*attempts: str, dropped: int = 0, rules: str = RULES, **changed: str) -> HostFacts:
    """The same host after its reboot."""
    found = before()
    boot = found.readings["boot"].text.replace(BOOTED, NEXT)
    told = text(*attempts, dropped=dropped, rules=rules)
    return also(found, **{"boot": boot, "outbound": told, **changed})


def said(name: str, now: HostFacts, apt: str = "") -> Verdict:
    return next(
        each for each in acceptance.verdicts(before(), now, apt) if each.id == f"accept.{name}"
    )


def test_a_host_that_needs_nobody_is_accepted() -> None:
    found = acceptance.verdicts(before(), after(), "")
    assert {each.id: each.status for each in found} == dict.fromkeys(
        ("accept.cut", "accept.containers", "accept.apt", "accept.outbound"), Status.PASS
    )


def test_a_host_that_was_not_cut_off_is_not_accepted() -> None:
    assert said("cut", before()).observed == "it did not reboot"
    found = said("cut", after(rules=""))
    assert (found.status, found.observed) == (Status.FAIL, "the way out was open")
    silent = text().replace("unit active", "unit failed")
    assert said("cut", after(outbound=silent)).status is Status.FAIL


CONTAINERS = stack.containers()
ENDED = CONTAINERS.replace('"running": true', '"running": false').replace('"running"', '"exited"')
ENDED = ENDED.replace('"exited": false', '"running": false')


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        pytest.param(ENDED, "exited", id="ended"),
        pytest.param(CONTAINERS.replace('"healthy"', '"unhealthy"'), "unhealthy", id="ill"),
        pytest.param("end\n", "is gone", id="gone"),
    ],
)  # fmt: skip
def test_a_container_that_does_not_come_back_is_named(changed: str, words: str) -> None:
    assert changed != CONTAINERS
    found = said("containers", after(containers=changed))
    assert found.status is Status.FAIL
    assert found.observed.startswith("ollama: ")
    assert words in found.observed


def test_what_apt_says_is_told() -> None:
    found = said("apt", after(), "E: Unable to locate package vulkan-tools")
    assert (found.status, found.evidence) == (
        Status.FAIL, "E: Unable to locate package vulkan-tools"
    )  # fmt: skip


WHO = [
    pytest.param(TCP + CURL, "198.51.100.7 port 443 (TCP) by http client (apt-daily.service)",
                 id="a process of a unit"),
    pytest.param(UDP, "198.51.100.8 port 53 (UDP) by a process of user 991", id="a user"),
    pytest.param(PING, "198.51.100.9 (ICMP) by 192.0.2.10: nobody knows who", id="nobody"),
    pytest.param(TCP.replace("SRC=192.0.2.10", "SRC=172.18.0.2"),
                 "198.51.100.7 port 443 (TCP) by container ollama", id="a container's address"),
    pytest.param(f"{TCP} CGROUP=/system.slice/docker-ID.scope BY=ollama",
                 "198.51.100.7 port 443 (TCP) by container ollama", id="a container's process"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "words"), WHO)
def test_who_tried_to_get_out_is_named(line: str, words: str) -> None:
    (own,) = before().containers.containers
    found = said("outbound", after(line.replace("ID.scope", f"{own.id}.scope"), dropped=3))
    assert (found.status, found.observed) == (Status.FAIL, words)
    assert "6 packets" in found.evidence
    assert "--allow 198.51.100" in found.fix


def test_packets_that_no_log_tells_of_count() -> None:
    assert said("outbound", after(dropped=2)).status is Status.FAIL


def test_what_could_not_be_read_is_not_accepted() -> None:
    found = acceptance.verdicts(before(), replace(after(), readings={}), "")
    assert {each.status for each in found} == {Status.UNKNOWN, Status.PASS}
    assert [each.id for each in found if each.status is Status.PASS] == ["accept.apt"]


OBSTACLES = [
    pytest.param({}, HEAD, "mirror_address", id="no mirror"),
    pytest.param({"mirror_address": "mirror.example"}, HEAD, "/etc/hosts", id="a name of DNS"),
    pytest.param({"mirror_address": "192.0.2.2"}, HEAD.replace("tool ip6tables\n", ""),
                 "apt-get install iptables", id="no iptables"),
    pytest.param({"mirror_address": "192.0.2.2"},
                 HEAD.replace("host 0", "macvlan 1"), "macvlan", id="past the host"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "head", "words"), OBSTACLES)
def test_a_host_that_cannot_be_cut_off_is_told_why(
    data: dict[str, str], head: str, words: str
) -> None:
    facts = also(host_facts(), outbound=text(head=head))
    asked = settings(**data)
    passage = cut.passage(asked.mirror, facts.outbound, ())
    (why,) = acceptance.obstacles(asked, facts, passage)
    assert words in why


def test_a_host_with_a_mirror_can_be_cut_off() -> None:
    asked = settings(mirror_address="mirror")
    passage = cut.passage(asked.mirror, before().outbound, ())
    assert not list(acceptance.obstacles(asked, before(), passage))


def test_a_boot_is_over_when_nothing_starts_any_more() -> None:
    assert acceptance.settled(after())
    assert acceptance.settled(after(outbound=text().replace("running", "degraded")))
    assert not acceptance.settled(after(outbound=text().replace("running", "starting")))
    assert not acceptance.settled(replace(after(), readings={}))
    starting = CONTAINERS.replace('"healthy"', '"starting"')
    assert not acceptance.settled(after(containers=starting))
