"""A host cut off for one boot: what may leave it, the files that do it, the scripts that use them.

Nothing of it is a role's: `apuhost bundle accept` writes it, and it goes by itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Network

from apuhost import roles
from apuhost.changes.scripts import LOCK
from apuhost.probes.outbound import ATTEMPTS as LOGGED
from apuhost.probes.outbound import CHAIN, UNIT, Outbound
from apuhost.settings.mirror import MirrorSettings

PROGRAMS = "/usr/local/lib/apuhost"
CUT = "/usr/local/lib/apuhost/cut"
ATTEMPTS = "/usr/local/lib/apuhost/attempts"
LIFT = "/usr/local/lib/apuhost/lift"
UNITS = (
    "/etc/systemd/system/apuhost-cut.service",
    "/etc/systemd/system/apuhost-lift.service",
    "/etc/systemd/system/apuhost-lift.timer",
)
TIMER = "apuhost-lift.timer"

MINUTES = 30
"""Until the host lifts the cut by itself, from the cut on and again from its boot on."""

LOG_PREFIX = "apuhost-cut "
_MARK = "==apuhost=="

# Each destination a few times: the kernel's log has other things to say.
_LOG = (
    "-m hashlimit --hashlimit-upto 6/min --hashlimit-burst 3 --hashlimit-mode srcip,dstip,dstport "
    f'--hashlimit-name {CHAIN} -j LOG --log-prefix "{LOG_PREFIX}" --log-level 6 --log-uid'
)
# An answer goes in the direction that somebody else's first packet did not have. A reset opens
# nothing, and may answer what the kernel knows nothing of.
_ANSWERS = ("-o lo", "-m conntrack --ctdir REPLY", "-p tcp -m tcp --tcp-flags RST RST")
# Whatever no router passes on, and how a host has an address: RFC 5771, RFC 4291, RFC 4861.
_LINK = ("-d 224.0.0.0/24", "-p udp -m udp --sport 68 --dport 67")
_LINK_6 = (
    "-d ff02::/16",
    *(f"-p ipv6-icmp -m icmp6 --icmpv6-type {kind}" for kind in (133, 135, 136)),
    "-p udp -m udp --sport 546 --dport 547",
)

Networks = tuple[IPv4Network | IPv6Network, ...]


@dataclass(frozen=True)
class Passage:
    """What may leave a host that is cut off.

    Attributes:
        bridges: interfaces of Docker's own networks.
        mirror: the mirror's addresses, for its ports alone.
        ports: TCP ports of the mirror.
        allowed: what the operator lets through whole.
    """

    bridges: tuple[str, ...]
    mirror: tuple[IPv4Address, ...]
    ports: tuple[int, ...]
    allowed: Networks = ()


def passage(asked: MirrorSettings, found: Outbound, allowed: Networks) -> Passage:
    """What may leave this host; without an address of the mirror it is not known by itself."""
    bridges = {each.interface for each in found.networks if each.interface}
    named = (asked.mirror_address,) if asked.numeric else found.names.get(asked.mirror_address, ())
    ports = (asked.mirror_registry_port, asked.mirror_files_port)
    return Passage(tuple(sorted(bridges)), tuple(_addresses(named)), ports, allowed)


def _addresses(texts: Iterable[str]) -> Iterator[IPv4Address]:
    """Those of IPv4: no mirror listens at another."""
    for text in texts:
        with suppress(AddressValueError):
            yield IPv4Address(text)


def rules(passage: Passage) -> tuple[str, ...]:
    """The chain for IPv4: what may leave goes on, anything else is logged and dropped."""
    at_mirror = (
        f"-d {address}/32 -p tcp -m tcp --dport {port}"
        for address in passage.mirror
        for port in passage.ports
    )
    return _chain((*_ANSWERS, *_LINK, *at_mirror), passage, IPv4Network)


def rules_6(passage: Passage) -> tuple[str, ...]:
    """The same for IPv6, by which no mirror is reached."""
    return _chain((*_ANSWERS, *_LINK_6), passage, IPv6Network)


def _chain(
    passing: Iterable[str], passage: Passage, family: type[IPv4Network | IPv6Network]
) -> tuple[str, ...]:
    bridges = (f"-o {name}" for name in passage.bridges)
    allowed = (f"-d {each}" for each in passage.allowed if isinstance(each, family))
    returns = (f"{each} -j RETURN" for each in (*passing, *bridges, *allowed))
    return tuple(f"-A {CHAIN} {rule}" for rule in (*returns, _LOG, "-j DROP"))


def files(passage: Passage) -> dict[str, str]:
    """Everything that is written, by its path."""
    told = values(passage)
    return {path: roles.render("mirror", path, told) for path in (CUT, ATTEMPTS, LIFT, *UNITS)}


def values(passage: Passage) -> Mapping[str, object]:
    """The variables that the templates may use."""
    return {
        "cut_rules": list(rules(passage)),
        "cut_rules_6": list(rules_6(passage)),
        "cut_minutes": MINUTES,
        "cut_attempts": LOGGED,
    }


def begin(passage: Passage) -> str:
    """The script that cuts a host off: now, and for the next boot; or leaves it as it was.

    What ends the cut is at work before it begins.
    """
    written = "\n".join(_written(path, text) for path, text in files(passage).items())
    return f"""set -e
{LOCK}
mkdir -p {PROGRAMS}
{written}
trap 'sh {LIFT} 2>/dev/null' EXIT
systemctl daemon-reload
systemctl restart {TIMER}
systemctl restart {UNIT}
systemctl enable --quiet {UNIT} {TIMER}
sync
trap - EXIT
"""


def _written(path: str, text: str) -> str:
    return f"cat >{path} <<'{_MARK}'\n{text}{_MARK}"


END = f"""[ ! -e {LIFT} ] || sh {LIFT}"""
"""The script that ends it, also where it has ended by itself."""
