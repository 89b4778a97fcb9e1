"""Who reaches what: the way of a published port's packets to our rules, and the open ports.

Docker leads them (nat, DNAT) to a container, so they are forwarded and never meet INPUT. FORWARD
asks DOCKER-USER, that our chain. What drops a packet is final, what accepts it ends that table of
that one iptables only (nf_tables or legacy): Docker may use the other one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apuhost.probes import ParseError, files
from apuhost.probes.pairs import whole_number

FORWARD = "FORWARD"
DOCKER_USER = "DOCKER-USER"
_OURS = "APUHOST-"
_MOST_BYTES = 1024 * 1024

# Comments are the operator's own words and stay on the host, as do dockerd's other flags. Legacy
# rules are listed where the kernel has their table: else the list would make an empty one.
_READ = f"""
frame() {{ printf '==> %d %s\\n%s\\n' "${{#2}}" "$1" "$2"; }}
led() {{
  printed=$("$1" -w 5 -t nat -S) || return
  printf '%s\\n' "$printed" | grep -qE '^-A PREROUTING .*-j DOCKER$' && printf '%s\\n' "$printed" |
    sed -nE 's/^-A DOCKER .*-p tcp .*--dport ([0-9]+) .*-j DNAT .*/\\1/p'
}}
if command -v iptables >/dev/null && printed=$(iptables -w 5 -S); then
  frame iptables "$(printf '%s\\n' "$printed" |
    grep -E '^-[NA] ({FORWARD}|{DOCKER_USER}|{_OURS}[^ ]*)( |$)' |
    sed -E 's/ -m comment --comment ("([^"\\\\]|\\\\.)*"|[^ ]+)//g')"
  frame led "$(led iptables
    grep -qsx nat /proc/net/ip_tables_names && command -v iptables-legacy >/dev/null &&
      led iptables-legacy)"
fi
pid=$(systemctl show docker.service -p MainPID | cut -d= -f2)
[ "${{pid:-0}}" != 0 ] &&
  frame dockerd "$(tr '\\0' '\\n' <"/proc/$pid/cmdline" | grep '^--iptables=')"
command -v ss >/dev/null && printed=$(ss -Hltn) && frame ss "$printed"
frame end ''
"""
COMMAND = f"({_READ}) | head -c {_MOST_BYTES}"

# `*` is an IPv6 socket that takes IPv4 too; after % comes the network interface.
_PLACE = re.compile(r"\[?(\*|[0-9A-Fa-f:.]+)(?:%[^]:]+)?\]?(?:%[^:]+)?:([0-9]{1,5})")
# A rule with another target, before the one that leads to our chain, may let a packet through; but
# not the first of a TCP connection, where it is for connections that are there, or not for TCP.
# Docker before 27 puts its chain of isolation first when it starts anew; that one only drops.
_HARMLESS = {"DROP", "REJECT", "LOG", "NFLOG", "MARK", "CONNMARK", "DOCKER-ISOLATION-STAGE-1"}
_OTHER_PACKETS = re.compile(
    r"(?<!! )--(?:ct)?state (?:RELATED,)?ESTABLISHED |(?<!! )-p (?!tcp )[a-z0-9-]+ "
)
_PORTS = re.compile(r"^[0-9]{1,5}$", re.MULTILINE)
_OFF = {f"--iptables={no}" for no in ("0", "f", "F", "FALSE", "false", "False")}

Chains = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Listening:
    """A TCP port that something listens on; the address `::` also stands for every IPv4 one."""

    address: str
    port: int


@dataclass(frozen=True)
class Firewall:
    """Rules as iptables prints them, less comments, by chain: FORWARD, DOCKER-USER and ours.

    None: the program is not there, or fails. `led` are the TCP ports that Docker leads to
    containers, by either iptables. `without_rules` is the flag with which the running dockerd sets
    no rules; None: it has no such flag, or does not run.
    """

    chains: Chains | None
    led: frozenset[int]
    without_rules: str | None
    listening: tuple[Listening, ...] | None

    def past(self, chain: str, rules: Sequence[str]) -> str | None:
        """What lets forwarded packets past exactly these rules of our chain; None: nothing does."""
        chains = self.chains or {}
        if chains.get(chain) != tuple(rules):
            return f"{chain} {'has other rules' if chain in chains else 'is not there'}"
        return _past(chains, FORWARD, DOCKER_USER) or _past(chains, DOCKER_USER, chain)


def _past(chains: Chains, chain: str, target: str) -> str | None:
    for rule in chains.get(chain, ()):
        if rule == f"-A {chain} -j {target}":
            return None
        if not _harmless(rule, target):
            return f"{rule} comes before {target}"
    return f"{chain} does not lead to {target}"


def _harmless(rule: str, target: str) -> bool:
    """A rule without target only counts; one for some packets may lead to the target, too."""
    condition, _, action = rule.rpartition(" -j ")
    if not condition:
        return " -g " not in rule
    jumps = action.split(" ")[0]
    return jumps in _HARMLESS | {target} or bool(_OTHER_PACKETS.search(f"{condition} "))


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
        led=frozenset(map(int, _PORTS.findall(told.get("led", "")))),
        without_rules=_without_rules(told.get("dockerd", "")),
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


def _without_rules(flags: str) -> str | None:
    """The last of equal flags counts (Go's pflag and strconv.ParseBool)."""
    last = flags.rsplit("\n", maxsplit=1)[-1]
    return last if last in _OFF else None


def _listening(printed: str) -> Iterator[Listening]:
    for line in printed.split("\n"):
        place = _PLACE.fullmatch((line.split() + [""] * 4)[3])
        port = whole_number(place[2]) if place else None
        if place and port is not None:
            yield Listening(place[1].replace("*", "::"), port)
