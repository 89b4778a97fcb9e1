"""Addresses and numbers that identify a machine, and what stands for them.

An address keeps its kind (loopback, private, link-local) and its relations: two addresses in one
network are in one network afterwards, so that rules and what they are for still fit. This is the
way of Crypto-PAn (Xu, Fan, Ammar, Moon, 2002): whether a bit is turned depends on those before it.
"""

import base64
import hmac
import re
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address, ip_network

Turn = Callable[[str], bytes]

_ONTO = tuple(
    (ip_network(network), ip_network(onto) if onto else None)
    for network, onto in (
        ("0.0.0.0/8", None), ("127.0.0.0/8", None), ("224.0.0.0/4", None),
        ("255.255.255.255/32", None), ("10.0.0.0/8", "10.0.0.0/8"),
        ("172.16.0.0/12", "172.16.0.0/12"), ("192.168.0.0/16", "192.168.0.0/16"),
        ("169.254.0.0/16", "169.254.0.0/16"), ("0.0.0.0/0", "240.0.0.0/4"),
        ("::/127", None), ("ff00::/8", None), ("fe80::/64", "fe80::/64"),
        ("fe80::/10", "fe80::/10"), ("fc00::/7", "fc00::/7"), ("::/0", "3fff::/20"),
    )
)  # fmt: skip
"""Where addresses of a network go, by the first that they are in; None: they stay.

Public ones go where nobody's are: what is reserved (RFC 1112) or for documents (RFC 9637).
"""

_HEX = "[0-9A-Fa-f]"
_IPV4 = re.compile(
    r"(?<![\w.])((?:[0-9]{1,3}\.){3}[0-9]{1,3})(?!\w|\.\w|-(?![0-9]+\.))(/[0-9]{1,2}(?![\w.]))?"
)
_IPV6 = re.compile(
    rf"(?<![\w:.])((?:{_HEX}{{0,4}}:){{2,7}}{_HEX}{{0,4}})(?![\w:]|\.\w)(/[0-9]{{1,3}}(?![\w.]))?"
)
_MAC = re.compile(rf"(?<![\w:])(?:{_HEX}{{2}}:){{5}}{_HEX}{{2}}(?![\w:])")
_UUID = re.compile(rf"(?<![\w-]){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?![\w-])")
_SHORT_ID = re.compile(
    r"((?:UUID=|by-uuid/|--fs-uuid(?: -[^\s']{1,99}){0,12} )'?)"
    rf"({_HEX}{{4}}-{_HEX}{{4}}|{_HEX}{{8}}-[0-9]{{2}}|{_HEX}{{16}})(?![\w-])"
)
_DOCKER_ID = re.compile(r"(?<![\w:])(?:[A-Z2-7]{4}:){11}[A-Z2-7]{4}(?![\w:])")
_DISK = re.compile(
    r"(/dev/disk/by-id/(?:[a-z]+-)?)([^\s\"'\\,;]+?)((?:-part[0-9]+)?)(?=[\s\"'\\,;]|$)"
)
_SERIAL = re.compile(r"((?i:serial(?:[ _]?number)?)\"?[ \t]*[:=][ \t]*\"?)([\w.-]{4,})")
_CERTIFICATE = re.compile(
    r"(-----BEGIN CERTIFICATE-----\n)([A-Za-z0-9+/=\n]+)(-----END CERTIFICATE-----)"
)


def turning(key: bytes) -> Turn:
    """Return what makes of a text 32 bytes that nobody without the key can tell."""

    @lru_cache(maxsize=100_000)
    def turn(text: str) -> bytes:
        return hmac.digest(key, text.encode("utf-8", "surrogateescape"), "sha256")

    return turn


def without_identifiers(text: str, turn: Turn) -> str:
    """The text with numbers of machines, disks, file systems and certificates made others."""
    text = _CERTIFICATE.sub(
        lambda found: f"{found[1]}{_certificate(found[2], turn)}{found[3]}", text
    )
    text = _UUID.sub(lambda found: _same_form(found[0], turn), text)
    text = _SHORT_ID.sub(lambda found: f"{found[1]}{_same_form(found[2], turn)}", text)
    text = _DISK.sub(lambda found: f"{found[1]}{turn(found[2]).hex()[:12]}{found[3]}", text)
    text = _SERIAL.sub(lambda found: f"{found[1]}{turn(found[2]).hex()[:12]}", text)
    text = _DOCKER_ID.sub(lambda found: _docker_id(found[0], turn), text)
    return _MAC.sub(lambda found: _mac(found[0], turn), text)


def without_addresses(text: str, turn: Turn) -> str:
    """The text with addresses made others of the same kind."""
    text = _IPV6.sub(lambda found: _address(found, turn), text)
    return _IPV4.sub(lambda found: _address(found, turn), text)


def _address(found: re.Match[str], turn: Turn) -> str:
    try:
        address = ip_address(found[1])
    except ValueError:
        return found[0]
    onto = next(onto for network, onto in _ONTO if address in network)
    width = address.max_prefixlen
    value, length = int(address), int((found[2] or f"/{width}")[1:])
    if onto is None or not onto.prefixlen <= length <= width:
        return found[0]
    # Of a network, what stands for its hosts is 0 and stays it.
    is_network = value % (1 << (width - length)) == 0
    bits = f"{value:0{width}b}"
    turned = "".join(
        str(int(bit) ^ (turn(f"{width} {bits[:place]}")[0] & 1)) for place, bit in enumerate(bits)
    )
    last = length if is_network else width
    kept = f"{int(onto.network_address):0{width}b}"[: onto.prefixlen]
    masked = f"{kept}{turned[onto.prefixlen : last]}{bits[last:]}"
    return f"{type(address)(int(masked, 2))}{found[2] or ''}"


def _same_form(text: str, turn: Turn) -> str:
    digits = iter(turn(text.lower()).hex() * 2)
    upper = text.lower() != text
    made = "".join("-" if char == "-" else next(digits) for char in text)
    return made.upper() if upper else made


def _mac(text: str, turn: Turn) -> str:
    made = turn(text.lower()).hex()
    return ":".join(("02", *(made[at : at + 2] for at in range(0, 10, 2))))


def _docker_id(text: str, turn: Turn) -> str:
    made = base64.b32encode(turn(text)).decode()
    return ":".join(made[at : at + 4] for at in range(0, 48, 4))


def _certificate(text: str, turn: Turn) -> str:
    """Bytes that begin as a certificate does, and say nothing."""
    return base64.b64encode(b"\x30\x20" + turn("".join(text.split()))).decode() + "\n"
