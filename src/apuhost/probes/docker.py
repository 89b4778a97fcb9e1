"""The container engine: which one it is, whether it is at work, and with what settings.

`docker info` tells the daemon's settings and the client's plugins at once. Its form without a
daemon differs: 20.10 leaves the daemon's members out (and exits 0), later ones print them empty.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apuhost.probes import ParseError
from apuhost.probes.container_commands import DOCKER_TIMEOUT_S
from apuhost.probes.daemon_json import PATH
from apuhost.probes.docker_info import SNAPSHOTTER
from apuhost.probes.json_values import checked, load_object, member, objects, texts
from apuhost.probes.pairs import pairs
from apuhost.probes.secrets import HIDDEN

# The daemon masks the logins of its proxies, as xxxxx:xxxxx; one form for all is easier to read.
# Its labels are the operator's own words and stay on the host.
_TEXT = r'([^"\\]|\\.)*'
_HIDE = (
    rf's~("Https?Proxy":")([A-Za-z][A-Za-z0-9+.-]*://)?{_TEXT}@~\1\2{HIDDEN}@~g'
    rf';s~"Labels":\[("{_TEXT}",?)*\]~"Labels":null~g'
)
_MOST_BYTES = 1024 * 1024
_READ = f"""
for name in docker dockerd podman; do
  path=$(command -v "$name") && printf 'tool_%s=%s\\n' "$name" "$path"
done
[ -e /snap/bin/docker ] && echo 'tool_snap=/snap/bin/docker'
systemctl show docker.service -p LoadState -p ActiveState -p UnitFileState
systemctl show docker.service -p ExecStart | sed -n 's/.*path=\\([^ ;]*\\) .*/ExecStart=\\1/p'
root=$(sed -n 's/.*"data-root"[[:space:]]*:[[:space:]]*"\\([^"]*\\)".*/\\1/p' {PATH} 2>/dev/null |
  tail -n 1)
case $root in /*) printf 'root=%s\\nlinked=%s\\n' "$root" "$(readlink -m -- "$root")" ;; esac
if command -v docker >/dev/null; then
  printf 'client=%s\\n' "$(docker --version)"
  timeout {DOCKER_TIMEOUT_S} docker info --format '{{{{json .}}}}' 2>&1 |
    sed -E 's/^\\{{/info={{/;t hide;s/^/said=/;:hide;{_HIDE}'
  echo
fi
echo end=
"""
COMMAND = f"({_READ}) | head -c {_MOST_BYTES}"

_PACKAGED = re.compile(r"(?:/usr)?/s?bin/[^/]+")
_CLIENT = re.compile(r"Docker version ([^\s,]+)")
_BUILT_IN = {"127.0.0.0/8", "::1/128"}


@dataclass(frozen=True)
class Docker:
    """The engine and its client; what only the daemon knows is None or empty while it is down.

    `source` is "none", "package" (which one: ask the packages), "snap", "podman" (that answers to
    the name docker) or "other" (put into /usr/local or elsewhere by hand). `missing` are those of
    docker and dockerd that are not there. `compose` is the version of the plugin; `error` the
    client's words when no daemon answers. `firewall` is iptables or nftables, with +firewalld where
    that is at work (28.1 and later tell). Mirrors end without a slash; registries on loopback, of
    which docker never asks TLS, are left out; logins in proxies read ***. `linked_roots` has the
    data root that daemon.json names, and the folder that its links lead to.
    """

    source: str
    missing: tuple[str, ...]
    active: bool
    enabled: bool
    client: str | None
    server: str | None
    compose: str | None
    error: str | None
    data_root: str | None
    storage_driver: str | None
    containerd_store: bool
    live_restore: bool | None
    userns: bool
    rootless: bool
    swarm: bool
    firewall: str | None
    registry_mirrors: tuple[str, ...]
    insecure_registries: tuple[str, ...]
    http_proxy: str | None
    https_proxy: str | None
    no_proxy: str | None
    linked_roots: Mapping[str, str]

    @property
    def installed(self) -> bool:
        """Whether client and daemon are both there."""
        return not self.missing

    @property
    def silent(self) -> bool:
        """Whether a part of an engine is there, and none answers: what it holds is not known."""
        return self.source != "none" and self.server is None


def parse(text: str) -> Docker:
    """Read the lines that COMMAND prints.

    Raises:
        ParseError: they were cut, or `docker info` is of another form.
    """
    if text.split("\n")[-2:-1] != ["end="]:
        raise ParseError("docker's answer ends in the middle")
    values = dict(pairs(text))
    client = _CLIENT.match(values.get("client", ""))
    info = load_object(values.get("info") or "{}") if client else {}
    server = member(info, "ServerVersion", "") or None
    registries: dict[str, Any] = member(info, "RegistryConfig", {})
    options = texts(info, "SecurityOptions")
    return Docker(
        source=_source(values),
        missing=tuple(_missing(client is not None, "tool_dockerd" in values)),
        active=values.get("ActiveState") == "active",
        enabled=values.get("UnitFileState") == "enabled",
        client=client[1] if client else None,
        server=server,
        compose=_compose(info),
        error=_error(info, values.get("said")) if client and server is None else None,
        data_root=member(info, "DockerRootDir", "") or None,
        storage_driver=member(info, "Driver", "") or None,
        containerd_store=_containerd_store(info),
        live_restore=member(info, "LiveRestoreEnabled", False) if server else None,
        userns=_has(options, "userns"),
        rootless=_has(options, "rootless"),
        swarm=member(member(info, "Swarm", {}), "LocalNodeState", "") in ("active", "locked"),
        firewall=member(member(info, "FirewallBackend", {}), "Driver", "") or None,
        registry_mirrors=tuple(url.rstrip("/") for url in texts(registries, "Mirrors")),
        insecure_registries=tuple(_insecure(registries)),
        http_proxy=member(info, "HttpProxy", "") or None,
        https_proxy=member(info, "HttpsProxy", "") or None,
        no_proxy=member(info, "NoProxy", "") or None,
        linked_roots=_linked(values),
    )


def _missing(client: bool, daemon: bool) -> Iterator[str]:
    if not client:
        yield "docker"
    if not daemon:
        yield "dockerd"


def _linked(values: Mapping[str, str]) -> dict[str, str]:
    return {values["root"]: values["linked"]} if {"root", "linked"} <= values.keys() else {}


def _source(values: Mapping[str, str]) -> str:
    tools = [values.get(f"tool_{name}", "") for name in ("docker", "dockerd")]
    paths = [path for path in (*tools, values.get("ExecStart", "")) if path]
    if "podman" in values.get("client", "").lower():
        return "podman"
    if any(path.startswith("/snap/") for path in paths) or (not paths and "tool_snap" in values):
        return "snap"
    if not paths:
        return "none"
    return "package" if all(map(_PACKAGED.fullmatch, paths)) else "other"


def _error(info: Mapping[str, Any], said: str | None) -> str:
    """The client says it on stderr (the last line), within its answer, or both."""
    words = " ".join(" ".join(texts(info, "ServerErrors")).split())
    return words or said or f"no answer within {DOCKER_TIMEOUT_S} s"


def _compose(info: Mapping[str, Any]) -> str | None:
    for plugin in objects(member(info, "ClientInfo", {}), "Plugins"):
        if member(plugin, "Name", "") == "compose":
            return member(plugin, "Version", "").removeprefix("v") or None
    return None


def _containerd_store(info: Mapping[str, Any]) -> bool:
    """Images in containerd's own store: the driver is one of its snapshotters."""
    status: list[object] = member(info, "DriverStatus", [])
    return ["driver-type", SNAPSHOTTER] in status


def _has(options: tuple[str, ...], name: str) -> bool:
    """Options read `name=seccomp,profile=builtin`; before 17.06 only `seccomp`."""
    return any(option.split(",")[0] == f"name={name}" for option in options)


def _insecure(registries: Mapping[str, Any]) -> Iterator[str]:
    indexes: dict[str, object] = member(registries, "IndexConfigs", {})
    for name, index in indexes.items():
        if not member(checked(index, dict), "Secure", False):
            yield name
    yield from (net for net in texts(registries, "InsecureRegistryCIDRs") if net not in _BUILT_IN)
