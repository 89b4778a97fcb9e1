"""Which proxy a request goes through, by Go's rules (net/http ProxyFromEnvironment)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

_PORTS = {"http": 80, "https": 443}


def choose(url: SplitResult, environ: Mapping[str, str]) -> SplitResult | None:
    """The proxy for a request, None where it goes straight.

    Upper-case variables win; loopback never goes through a proxy.
    """
    value = _variable(environ, f"{url.scheme}_proxy")
    if not value or not url.hostname or _excluded(url, _variable(environ, "no_proxy")):
        return None
    return urlsplit(value if "://" in value else f"http://{value}")


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper()) or environ.get(name, "")


def _excluded(url: SplitResult, no_proxy: str) -> bool:
    host = (url.hostname or "").lower()
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    port = url.port or _PORTS.get(url.scheme, 0)
    rules = (rule.strip().lower() for rule in no_proxy.split(","))
    return any(_matches(rule, host, port, address) for rule in rules if rule)


def _matches(
    rule: str, host: str, port: int, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
) -> bool:
    if rule == "*":
        return True
    if "/" in rule:
        return address is not None and _in_network(address, rule)
    name, colon, wanted = rule.rpartition(":")
    if colon and wanted.isdigit() and _address(rule) is None:
        if int(wanted) != port:
            return False
        rule = name.strip("[]")
    if _address(rule) is not None:
        return address == _address(rule)
    rule = rule.removeprefix("*")
    if rule.startswith("."):
        return host.endswith(rule)
    return host == rule or host.endswith(f".{rule}")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _in_network(address: ipaddress.IPv4Address | ipaddress.IPv6Address, rule: str) -> bool:
    try:
        return address in ipaddress.ip_network(rule, strict=False)
    except ValueError:
        return False
