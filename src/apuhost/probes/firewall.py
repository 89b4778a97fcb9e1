"""Who reaches what: docker's own chain for the operator's rules, ours, and the open ports.

Packets to a published port are forwarded: they pass DOCKER-USER, never INPUT.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apuhost.probes import ParseError, files
from apuhost.probes.pairs import whole_number

DOCKER_USER = "DOCKER-USER"
_OURS = "APUHOST-"
_MOST_BYTES = 1024 * 1024

_READ = f"""
rules() {{
  command -v "$1" >/dev/null && printed=$("$1" -w 5 -S) || return
  printed=$(printf '%s\\n' "$printed" | grep -E '^-[NA] ({DOCKER_USER}|{_OURS}[^ ]*)( |$)')
  printf '==> %d %s\\n%s\\n' "${{#printed}}" "$1" "$printed"
}}
rules iptables
rules ip6tables
command -v ss >/dev/null && printed=$(ss -Hltn) &&
  printf '==> %d ss\\n%s\\n' "${{#printed}}" "$printed"
printf '==> 0 end\\n\\n'
"""
COMMAND = f"({_READ}) | head -c {_MOST_BYTES}"

# `*` is an IPv6 socket that takes IPv4 too; after % comes the network interface.
_PLACE = re.compile(r"\[?(\*|[0-9A-Fa-f:.]+)(?:%[^]:]+)?\]?(?:%[^:]+)?:([0-9]{1,5})")
# A rule with another target, before the one that leads to our chain, may let a packet through.
_HARMLESS = {"DROP", "REJECT", "LOG", "NFLOG", "MARK", "CONNMARK"}

Chains = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Listening:
    """A TCP port that something listens on; the address `::` also stands for every IPv4 one."""

    address: str
    port: int


@dataclass(frozen=True)
class Firewall:
    """Rules as iptables and ip6tables print them, by chain: DOCKER-USER and ours.

    None: the program is not there, or fails.
    """

    chains: Chains | None
    chains6: Chains | None
    listening: tuple[Listening, ...] | None

    @property
    def docker_user(self) -> tuple[str, ...] | None:
        """DOCKER-USER's rules; None without such a chain."""
        return (self.chains or {}).get(DOCKER_USER)

    @property
    def docker_user6(self) -> tuple[str, ...] | None:
        """DOCKER-USER's rules for IPv6; None without such a chain."""
        return (self.chains6 or {}).get(DOCKER_USER)

    def guards(self, chain: str, rules: Sequence[str]) -> bool:
        """Whether every forwarded packet meets exactly these rules of our chain."""
        return _guards(self.chains or {}, chain, rules)

    def guards6(self, chain: str, rules: Sequence[str]) -> bool:
        """The same for IPv6."""
        return _guards(self.chains6 or {}, chain, rules)


def _guards(chains: Chains, chain: str, rules: Sequence[str]) -> bool:
    if chains.get(chain) != tuple(rules):
        return False
    for rule in chains.get(DOCKER_USER, ()):
        if rule == f"-A {DOCKER_USER} -j {chain}":
            return True
        if not _harmless(rule):
            return False
    return False


def _harmless(rule: str) -> bool:
    """The target follows the last -j: a comment stands before it, its own options after."""
    return rule.rpartition(" -j ")[2].split(" ")[0] in _HARMLESS


def parse(text: str) -> Firewall:
    """Read the frames that COMMAND prints.

    Raises:
        ParseError: the frames do not add up.
    """
    told = {file.path: file.text for file in files.parse_files(text)}
    if "end" not in told:
        raise ParseError("the rules end in the middle")
    return Firewall(
        chains=_chains(told["iptables"]) if "iptables" in told else None,
        chains6=_chains(told["ip6tables"]) if "ip6tables" in told else None,
        listening=tuple(_listening(told["ss"])) if "ss" in told else None,
    )


def _chains(printed: str) -> Chains:
    found: dict[str, list[str]] = {}
    for line in printed.split("\n"):
        match line.split(" ", 2):
            case ["-N", chain]:
                found.setdefault(chain, [])
            case ["-A", chain, _]:
                found.setdefault(chain, []).append(line)
    return {chain: tuple(rules) for chain, rules in found.items()}


def _listening(printed: str) -> Iterator[Listening]:
    for line in printed.split("\n"):
        place = _PLACE.fullmatch((line.split() + [""] * 4)[3])
        port = whole_number(place[2]) if place else None
        if place and port is not None:
            yield Listening(place[1].replace("*", "::"), port)
