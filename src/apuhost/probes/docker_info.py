"""`docker info`, as people print it or as JSON: what stores images, and which registries it asks.

Before 19.03 the lines of the text begin at the margin, since then one blank further in, below
`Server:`; the JSON has had the same members all along.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apuhost.probes import ParseError
from apuhost.probes.pasted_json import objects_in, typed, word
from apuhost.probes.plain_text import plain

SNAPSHOTTER = "io.containerd.snapshotter.v1"
"""The driver-type of a driver that is one of containerd's snapshotters (moby's daemon/info.go)."""

# Drivers of Docker's own store whose names no snapshotter has.
_OWN_DRIVERS = {"aufs", "devicemapper", "overlay", "overlay2", "vfs", "windowsfilter"}
_MEMBERS = {"ServerVersion", "Driver", "DriverStatus", "RegistryConfig", "ClientInfo"}
_MEMBERS |= {"DockerRootDir", "ServerErrors"}

_BEGINNING = re.compile(r"^(?=Client:|Containers: )", re.MULTILINE)
_LINE = re.compile(r"([A-Za-z][\w ./-]*):(?:\s+(.+))?")
_OWN_LINES = {"Server Version", "Storage Driver", "Insecure Registries", "Registry Mirrors"}
_OWN_LINES |= {"Docker Root Dir", "Logging Driver", "Cgroup Driver", "Live Restore Enabled"}
_DOWN = re.compile(r"annot connect to the Docker daemon(?: at \S+|\.)")


@dataclass(frozen=True)
class DockerInfo:
    """What the daemon says; without one nothing. Mirrors and registries are as it lists them.

    It puts a slash behind a mirror, and lists loopback, which needs no TLS, among the insecure.
    """

    server_version: str | None
    storage_driver: str | None
    containerd_store: bool | None
    registry_mirrors: tuple[str, ...]
    insecure_registries: tuple[str, ...]


def parse(text: str) -> DockerInfo:
    """Read either form, whole or in part; of several the last.

    Raises:
        ParseError: it is none of both.
    """
    shown = plain(text)
    answers = [each for each in objects_in(shown) if each.keys() & _MEMBERS]
    return _answered(answers[-1]) if answers else _printed(_BEGINNING.split(shown)[-1])


def _answered(info: Mapping[str, Any]) -> DockerInfo:
    registries = typed(info, "RegistryConfig", dict)
    driver = word(info, "Driver")
    return DockerInfo(
        server_version=word(info, "ServerVersion"),
        storage_driver=driver,
        containerd_store=_is_containerd(driver, _pairs(typed(info, "DriverStatus", list))),
        registry_mirrors=tuple(filter(_is_text, typed(registries, "Mirrors", list))),
        insecure_registries=tuple(_insecure(registries)),
    )


def _insecure(registries: Mapping[str, Any]) -> Iterator[str]:
    """Yield the registries and networks that RegistryConfig holds to be insecure, in its order."""
    for name, index in typed(registries, "IndexConfigs", dict).items():
        if isinstance(index, dict) and index.get("Secure") is False:
            yield name
    yield from filter(_is_text, typed(registries, "InsecureRegistryCIDRs", list))


def _pairs(entries: Iterable[object]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        match entry:
            case [str(name), str(value)]:
                yield name, value


def _is_containerd(driver: str | None, status: Iterable[tuple[str, str]]) -> bool | None:
    """Whether containerd stores images; None where neither driver nor its status tell."""
    found = dict(status)
    if "driver-type" in found:
        return True if found["driver-type"] == SNAPSHOTTER else None  # the line may be cut
    return False if found or driver in _OWN_DRIVERS else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _printed(text: str) -> DockerInfo:
    lines = [line.strip() for line in text.splitlines()]
    found = {line[1]: line[2] for each in lines if (line := _LINE.fullmatch(each))}
    if text.strip() and not found.keys() & _OWN_LINES and not _DOWN.search(text):
        raise ParseError("no line of `docker info`, and none of its JSON")
    driver = found.get("Storage Driver")
    return DockerInfo(
        server_version=found.get("Server Version"),
        storage_driver=driver,
        containerd_store=_is_containerd(driver, _status(lines)),
        registry_mirrors=tuple(_items(lines, "Registry Mirrors")),
        insecure_registries=tuple(_items(lines, "Insecure Registries")),
    )


def _below(lines: Iterable[str], name: str) -> Iterator[str]:
    found = False
    for line in lines:
        if found:
            yield line
        else:
            found = line.startswith(f"{name}:")


def _status(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The driver's own lines: Docker prints what logs next; the last line may be cut."""
    for line in _below(lines, "Storage Driver"):
        found = _LINE.fullmatch(line)
        if found is None or found[1] in {"Logging Driver", "Cgroup Driver", "Plugins"}:
            return
        yield found[1], found[2] or ""


def _items(lines: Iterable[str], name: str) -> Iterator[str]:
    """The words below a heading; a paste may have lost how far in they stand."""
    for item in _below(lines, name):
        if not item or item.endswith(":") or len(item.split()) > 1:
            return
        yield item
