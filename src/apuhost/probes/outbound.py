"""What leaves a host that is cut off for a while: the cut, and who tried to get out nevertheless.

iptables(8), `-S -v` for the rules with their counters, LOG in iptables-extensions(8) for a line of
the kernel's log; who had the port of a line is told by what reads that log (CGROUP and BY).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.pairs import whole_number

CHAIN = "APUHOST-CUT"
UNIT = "apuhost-cut.service"
ATTEMPTS = "/run/apuhost/attempts"
TOOLS = ("iptables", "ip6tables")

_MOST_BYTES = 1024 * 1024
_NETWORK = (
    "{{.ID}} {{.Driver}} {{len .Containers}} "
    '{{index .Options \\"com.docker.network.bridge.name\\"}}'
)

_READ = f"""
echo "system $(systemctl is-system-running)"
echo "unit $(systemctl is-active {UNIT})"
[ ! -e /proc/net/if_inet6 ] || echo 'inet6 yes'
for tool in {" ".join(TOOLS)}; do
  command -v "$tool-restore" >/dev/null || continue
  echo "tool $tool"
  "$tool" -w 5 -t mangle -S POSTROUTING -v | sed -n "s/^-A/rule $tool/p"
  "$tool" -w 5 -t mangle -S {CHAIN} -v | sed -n "s/^-A/rule $tool/p"
done
sed 's/#.*//; /^ *$/d; s/^/hosts /' /etc/hosts
if command -v docker >/dev/null; then
  docker network ls -q --no-trunc | while read -r id; do
    docker network inspect -f "network {_NETWORK}" "$id"
  done
fi
[ ! -f {ATTEMPTS} ] || sed 's/^/attempt /' {ATTEMPTS}
"""
COMMAND = f"({_READ}) | head -c {_MOST_BYTES}; echo end"

_COUNTED = re.compile(r" -c (\d+) \d+")
_PAIR = re.compile(r"([A-Z0-9]+)=(\S*)")
_BY = " BY="


@dataclass(frozen=True)
class Network:
    """One of Docker's networks, by its driver, and how many running containers are in it.

    `interface` is its bridge on the host, "" where there is none.
    """

    driver: str
    containers: int
    interface: str


@dataclass(frozen=True)
class Attempt:
    """What wanted to leave: to where, from which address, and of whom, as far as it is told.

    `port` is None where the protocol has none; `cgroup` is the path of its control group.
    """

    destination: str
    port: int | None
    protocol: str
    source: str
    user: int | None = None
    process: str = ""
    cgroup: str = ""


@dataclass(frozen=True)
class Outbound:
    """The state of a host that is cut off, or could be.

    Attributes:
        system: what `systemctl is-system-running` says.
        unit: whether the unit that cuts is `active`.
        inet6: whether the kernel has IPv6.
        tools: of TOOLS, those that are there.
        first: for each tool the target of the first rule of mangle's POSTROUTING.
        stopped: for each tool how many packets our chain dropped; none without the chain.
        names: the addresses of /etc/hosts by name.
        networks: Docker's.
        attempts: each once.
    """

    system: str
    unit: str
    inet6: bool
    tools: tuple[str, ...]
    first: Mapping[str, str]
    stopped: Mapping[str, int]
    names: Mapping[str, tuple[str, ...]]
    networks: tuple[Network, ...]
    attempts: tuple[Attempt, ...]

    @property
    def needed(self) -> tuple[str, ...]:
        """The tools that a cut takes here."""
        return TOOLS if self.inet6 else TOOLS[:1]

    @property
    def uncut(self) -> tuple[str, ...]:
        """The tools whose way out is open: another rule comes first, or there is none."""
        return tuple(
            tool
            for tool in self.needed
            if self.first.get(tool) != CHAIN or tool not in self.stopped
        )


def parse(text: str) -> Outbound:
    """Read the lines that COMMAND prints.

    Raises:
        ParseError: they were cut.
    """
    lines = text.split("\n")
    if "end" not in lines[-2:]:
        raise ParseError("what leaves the host ends in the middle")
    told: dict[str, list[str]] = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        told.setdefault(word, []).append(rest.strip())
    rules = [rule.partition(" ") for rule in told.get("rule", [])]
    return Outbound(
        system=_one(told, "system"),
        unit=_one(told, "unit"),
        inet6="inet6" in told,
        tools=tuple(told.get("tool", ())),
        first=_first((tool, rule) for tool, _, rule in rules),
        stopped=_stopped((tool, rule) for tool, _, rule in rules),
        names=_names(told.get("hosts", ())),
        networks=tuple(_network(line) for line in told.get("network", ())),
        attempts=tuple(dict.fromkeys(_attempts(told.get("attempt", ())))),
    )


def _one(told: Mapping[str, list[str]], word: str) -> str:
    return next(iter(told.get(word, ())), "")


def _first(rules: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for tool, rule in rules:
        if rule.startswith("POSTROUTING "):
            found.setdefault(tool, _COUNTED.sub("", rule).removeprefix("POSTROUTING -j "))
    return found


def _stopped(rules: Iterable[tuple[str, str]]) -> dict[str, int]:
    last = {tool: rule for tool, rule in rules if rule.startswith(f"{CHAIN} ")}
    counted = {tool: _COUNTED.search(rule) for tool, rule in last.items() if "-j DROP" in rule}
    return {tool: int(found[1]) for tool, found in counted.items() if found}


def _names(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in lines:
        address, *names = line.split()
        for name in names:
            found[name] = (*found.get(name, ()), address)
    return found


def _network(line: str) -> Network:
    """A bridge without a name of its own has the begin of the network's id (dockerd, bridge.go)."""
    match line.split():
        case [identity, driver, containers, *named]:
            own = named[0] if named and named[0] != "<no" else f"br-{identity[:12]}"
            interface = own if driver == "bridge" else ""
            return Network(driver, whole_number(containers) or 0, interface)
    raise ParseError(f"a network of Docker's: {line!r}")


def _attempts(lines: Iterable[str]) -> Iterator[Attempt]:
    for line in lines:
        logged, _, process = line.partition(_BY)
        pairs = dict(_PAIR.findall(logged))
        if "DST" in pairs:
            yield Attempt(
                destination=pairs["DST"],
                port=whole_number(pairs.get("DPT", "")),
                protocol=pairs.get("PROTO", ""),
                source=pairs.get("SRC", ""),
                user=whole_number(pairs.get("UID", "")),
                process=process,
                cgroup=pairs.get("CGROUP", ""),
            )
