"""Rules in DOCKER-USER, and the ports that are listened on."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apuhost.probes import ParseError, firewall
from apuhost.probes.files import TextFile, frame
from apuhost.probes.firewall import Firewall, Listening

CHAIN = "APUHOST-OLLAMA"
MATCH = "-p tcp -m conntrack --ctstate DNAT --ctorigdstport 11434 --ctdir ORIGINAL"
RULES = (f"-A {CHAIN} -s 192.168.7.0/24 {MATCH} -j RETURN", f"-A {CHAIN} {MATCH} -j DROP")
OWN = "\n".join(("-N DOCKER-USER", f"-N {CHAIN}", *RULES))
JUMP = f"-A DOCKER-USER -j {CHAIN}"


def answer(**printed: str) -> str:
    return frame((*(TextFile(*each) for each in printed.items()), TextFile("end", "")))


def test_rules_are_read_by_chain() -> None:
    found = firewall.parse(answer(iptables=f"{OWN}\n{JUMP}", ip6tables="-N DOCKER-USER"))
    assert found == Firewall(
        chains={"DOCKER-USER": (JUMP,), CHAIN: RULES},
        chains6={"DOCKER-USER": ()},
        listening=None,
    )
    assert (found.docker_user, found.docker_user6) == ((JUMP,), ())


def test_without_iptables_and_ss_nothing_is_known() -> None:
    found = firewall.parse(answer())
    assert found == Firewall(None, None, None)
    assert (found.docker_user, found.docker_user6) == (None, None)
    assert not found.guards(CHAIN, RULES)


def test_a_host_without_dockers_chain() -> None:
    found = firewall.parse(answer(iptables=""))
    assert (found.chains, found.docker_user) == ({}, None)


@pytest.mark.parametrize(
    ("rules", "guards"),
    [
        pytest.param([JUMP], True, id="alone"),
        pytest.param([JUMP, "-A DOCKER-USER -j RETURN"], True, id="before Docker's own"),
        pytest.param([], False, id="nothing leads there"),
        pytest.param(["-A DOCKER-USER -j RETURN", JUMP], False, id="after everything returned"),
        pytest.param(["-A DOCKER-USER -i eth0 -j ACCEPT", JUMP], False, id="after an exception"),
        pytest.param(["-A DOCKER-USER -s 10.0.0.1/32 -j DROP", JUMP], True, id="after a ban"),
        pytest.param(
            ['-A DOCKER-USER -m comment --comment "a -j DROP" -j ACCEPT', JUMP],
            False,
            id="a comment is no target",
        ),
        pytest.param(["-A DOCKER-USER -g OTHER", JUMP], False, id="after a way out"),
        pytest.param([f"-A DOCKER-USER -i eth0 -j {CHAIN}"], False, id="of one interface only"),
    ],
)
def test_our_chain_guards_when_every_packet_meets_it(rules: list[str], guards: bool) -> None:
    printed = "\n".join((OWN, *rules))
    found = firewall.parse(answer(iptables=printed, ip6tables=printed))
    assert found.guards(CHAIN, RULES) is guards
    assert found.guards6(CHAIN, RULES) is guards


@pytest.mark.parametrize("rules", [(), RULES[:1], RULES[::-1], (*RULES, RULES[0])])
def test_other_rules_do_not_guard(rules: tuple[str, ...]) -> None:
    found = firewall.parse(answer(iptables=f"{OWN}\n{JUMP}"))
    assert not found.guards(CHAIN, rules)


@pytest.mark.parametrize(
    ("place", "listening"),
    [
        ("0.0.0.0:11434", Listening("0.0.0.0", 11434)),
        ("[::]:22", Listening("::", 22)),
        ("*:80", Listening("::", 80)),
        ("127.0.0.53%lo:53", Listening("127.0.0.53", 53)),
        ("[fe80::1]%eth0:9", Listening("fe80::1", 9)),
        ("[::ffff:127.0.0.1]:631", Listening("::ffff:127.0.0.1", 631)),
    ],
)
def test_ports_that_are_listened_on(place: str, listening: Listening) -> None:
    found = firewall.parse(answer(ss=f"LISTEN 0      4096   {place} 0.0.0.0:*\nnoise\n"))
    assert found.listening == (listening,)


@pytest.mark.parametrize("text", ["", answer(ss="LISTEN 0 1 a b")[:-9], "-N DOCKER-USER\n"])
def test_rules_that_were_cut_are_refused(text: str) -> None:
    with pytest.raises(ParseError):
        firewall.parse(text)


PIECES = st.sampled_from([*OWN.split("\n"), JUMP, "-A", "-A X", "LISTEN 0 0 [::]:1 *:*", ""])


@given(st.lists(PIECES | st.text(max_size=9)))
def test_no_rules_raise_anything_else(lines: list[str]) -> None:
    text = "\n".join(lines)
    with suppress(ParseError):
        firewall.parse(answer(iptables=text, ip6tables=text, ss=text)).guards(CHAIN, RULES)
