"""Which hosts apt reaches without the proxy, as docker_no_proxy says it for dockerd and Ollama.

They are Go programs (golang.org/x/net/http/httpproxy): a name stands for itself and the names below
it, `.name` for those below it alone, and there are networks and `*`. apt's settings know whole
hosts (apt-transport-http(1), Acquire::http::Proxy::HOST); ends of names it takes from the
environment's no_proxy alone (apt's methods/http.cc), which nobody sets for its timers. So what
covers more is written for the hosts that it is sent to: those of its own sources, and the models'
registries, which a deploy asks with apt's downloader.
"""

import re
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.model_names import full_name

DOCKERS = "download.docker.com"
"""Where a deploy may fetch Docker's key and packages: asked for before the source is there."""

_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
_PORT = re.compile(r"(.*[^:]):[0-9]+")
_HTTP = ("http", "https")


def hosts(derived: Derived, facts: HostFacts) -> list[str]:
    """Hosts that stand in apt's file: those that are named, and those that apt asks."""
    places = (place.lower() for place in derived.settings.docker.docker_no_proxy)
    named = filter(_HOST.fullmatch, places)
    return list(dict.fromkeys((*named, *sorted(filter(_HOST.fullmatch, _covered(derived, facts))))))


def inexpressible(derived: Derived, facts: HostFacts) -> list[str]:
    """Hosts of apt's sources that its file cannot name: addresses of IPv6."""
    covered = _covered(derived, facts) if derived.settings.docker.docker_proxy else ()
    return sorted({host for host in covered if not _HOST.fullmatch(host)})


def _covered(derived: Derived, facts: HostFacts) -> Iterator[str]:
    places = [place.lower() for place in derived.settings.docker.docker_no_proxy]
    models = derived.settings.models.models_list
    registries = (_registry(model.name) for model in models)
    for host, port in (*_asked_by_apt(facts), (DOCKERS, "443"), *registries):
        if any(covers(place, host, port) for place in places):
            yield host


def _registry(model: str) -> tuple[str, str]:
    server = full_name(model).partition("/")[0].lower()
    host, _, port = server.partition(":")
    return host, port or "443"


def covers(place: str, host: str, port: str) -> bool:
    """Whether a place of docker_no_proxy, in small letters, stands for a host at this port."""
    if place == "*":
        return True
    if "/" in place:
        return _within(host, place)
    if (with_port := _PORT.fullmatch(place)) and not _within(place, "::/0"):
        return place.rpartition(":")[2] == port and covers(with_port[1], host, port)
    name = place.removeprefix("*")
    return host == name or (host.endswith(f".{name.removeprefix('.')}") and not _address(host))


def _asked_by_apt(facts: HostFacts) -> Iterator[tuple[str, str]]:
    sources = facts.apt_sources
    for source in sources.sources:
        for uri in sources.addresses(source) if source.enabled else ():
            try:
                parts = urlsplit(uri.strip('"'))
                scheme = parts.scheme.rpartition("+")[2]
                port = parts.port or (443 if scheme == "https" else 80)
            except ValueError:  # no address that apt could ask
                continue
            if scheme in _HTTP and parts.hostname:
                yield parts.hostname, str(port)


def _within(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False


def _address(host: str) -> bool:
    return _within(host, "0.0.0.0/0") or _within(host, "::/0")
