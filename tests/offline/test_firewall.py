"""The way of a packet to our rules, what lets it past them, and the ports that are listened on."""

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
FIRST = "-A FORWARD -j DOCKER-USER"


def answer(**printed: str) -> str:
    return frame((*(TextFile(*each) for each in printed.items()), TextFile("end", "")))


def test_rules_are_read_by_chain() -> None:
    found = firewall.parse(answer(iptables=f"{OWN}\n{FIRST}\n{JUMP}", led="11434\n80"))
    assert found == Firewall(
        chains={"FORWARD": (FIRST,), "DOCKER-USER": (JUMP,), CHAIN: RULES},
        led=frozenset({80, 11434}),
        without_rules=None,
        listening=None,
    )


def test_without_iptables_and_ss_nothing_is_known() -> None:
    found = firewall.parse(answer())
    assert found == Firewall(None, frozenset(), None, None)
    assert found.past(CHAIN, RULES) == f"{CHAIN} is not there"


@pytest.mark.parametrize(
    ("flags", "off"),
    [
        ("", None),
        ("--iptables=true", None),
        ("--iptables=false", "--iptables=false"),
        ("--iptables=true\n--iptables=0", "--iptables=0"),
        ("--iptables=F\n--iptables=1", None),
    ],
)
def test_dockerds_last_flag_says_whether_it_sets_rules(flags: str, off: str | None) -> None:
    assert firewall.parse(answer(dockerd=flags)).without_rules == off


# What stands in a chain beside the rule that leads on, and whether all packets of a stranger's new
# connection still come to that rule.
BESIDE = [
    pytest.param([], ["{chain} -j RETURN"], True, id="before a return"),
    pytest.param(["{chain} -j RETURN"], [], False, id="after everything returned"),
    pytest.param(["{chain} -i eth0 -j ACCEPT"], [], False, id="after an exception"),
    pytest.param(["{chain} -s 10.0.0.1/32 -j DROP"], [], True, id="after a ban"),
    pytest.param(["{chain} -j LOG --log-prefix x"], [], True, id="after a note"),
    pytest.param(["{chain} -p tcp"], [], True, id="after a count"),
    pytest.param(["{chain} -g OTHER"], [], False, id="after a way out"),
    pytest.param(["{chain} -j ts-forward"], [], False, id="after somebody's chain"),
    pytest.param(["{chain} -j DOCKER-ISOLATION-STAGE-1"], [], True, id="after Docker's isolation"),
    pytest.param(["{chain} -j DOCKER-FORWARD"], [], False, id="after Docker's own"),
    pytest.param(["{chain} -p udp -j ACCEPT"], [], True, id="after other protocols"),
    pytest.param(["{chain} ! -p udp -j ACCEPT"], [], False, id="after all but one protocol"),
    pytest.param(["{chain} -p tcp -j ACCEPT"], [], False, id="after this protocol"),
    pytest.param(
        ["{chain} -o br0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"],
        [],
        True,
        id="after connections that are there",
    ),
    pytest.param(
        ["{chain} -m state ! --state RELATED,ESTABLISHED -j ACCEPT"],
        [],
        False,
        id="after new connections",
    ),
    pytest.param(
        ["{chain} -m conntrack --ctstate NEW,ESTABLISHED -j ACCEPT"],
        [],
        False,
        id="after connections of any age",
    ),
    pytest.param(
        ['{chain} -m comment --comment "a -j DROP" -j ACCEPT'], [], False, id="a comment's target"
    ),
]


@pytest.mark.parametrize(("before", "after", "met"), BESIDE)
@pytest.mark.parametrize("chain", ["FORWARD", "DOCKER-USER"])
def test_our_chain_guards_when_every_packet_meets_it(
    chain: str, before: list[str], after: list[str], met: bool
) -> None:
    leads = {"FORWARD": FIRST, "DOCKER-USER": JUMP}
    own = "\n".join((*before, "{jump}", *after)).replace("{chain}", f"-A {chain}")
    rules = own.format(jump=leads[chain]).split("\n")
    others = [jump for name, jump in leads.items() if name != chain]
    past = firewall.parse(answer(iptables="\n".join((OWN, *others, *rules)))).past(CHAIN, RULES)
    assert (past is None) is met
    if past:
        assert past.startswith(f"{rules[0]} comes before ")


@pytest.mark.parametrize(
    ("printed", "past"),
    [
        pytest.param([JUMP], "FORWARD does not lead to DOCKER-USER", id="FORWARD was flushed"),
        pytest.param([FIRST], f"DOCKER-USER does not lead to {CHAIN}", id="DOCKER-USER was"),
        pytest.param(
            [FIRST, f"-A DOCKER-USER -i eth0 -j {CHAIN}"],
            f"DOCKER-USER does not lead to {CHAIN}",
            id="of one interface only",
        ),
        pytest.param(
            ["-A FORWARD -o br0 -j DOCKER-USER", FIRST, JUMP], None, id="one interface's first"
        ),
    ],
)
def test_a_chain_that_leads_on_or_not(printed: list[str], past: str | None) -> None:
    found = firewall.parse(answer(iptables="\n".join((OWN, *printed))))
    assert found.past(CHAIN, RULES) == past


@pytest.mark.parametrize("rules", [(), RULES[:1], RULES[::-1], (*RULES, RULES[0])])
def test_other_rules_do_not_guard(rules: tuple[str, ...]) -> None:
    found = firewall.parse(answer(iptables=f"{OWN}\n{FIRST}\n{JUMP}"))
    assert found.past(CHAIN, rules) == f"{CHAIN} has other rules"


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


WORDS = ["-A", "-A X", "LISTEN 0 0 [::]:1 *:*", "11434", "123456", "--iptables=0", ""]
PIECES = st.sampled_from([*OWN.split("\n"), FIRST, JUMP, *WORDS])


@given(st.lists(PIECES | st.text(max_size=9)))
def test_no_rules_raise_anything_else(lines: list[str]) -> None:
    text = "\n".join(lines)
    with suppress(ParseError):
        told = answer(iptables=text, led=text, dockerd=text, ss=text)
        firewall.parse(told).past(CHAIN, RULES)
