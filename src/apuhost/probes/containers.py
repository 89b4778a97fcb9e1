"""Docker's containers, images and volumes: what `docker inspect` tells of them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apuhost.probes import ParseError, container_commands
from apuhost.probes.container_commands import COMPOSE, MADE_FROM, OLLAMA, SERVICE
from apuhost.probes.json_values import checked, load, load_object, member, objects, texts

COMMAND = container_commands.ALL
TIMEOUT_S = 5 * container_commands.DOCKER_TIMEOUT_S + 5
"""Docker is asked five times."""

_OLLAMA_IMAGE = re.compile(r"(?:^|/)ollama(?:[/:@]|$)")


@dataclass(frozen=True)
class Port:
    """A port of the container ("11434/tcp") and where the host has it; address "" means any."""

    container: str
    host_ip: str
    host_port: int


@dataclass(frozen=True)
class Mount:
    """What is mounted into a container; `name` is a volume's, `source` a path on the host."""

    type: str
    name: str
    source: str
    destination: str
    writable: bool


@dataclass(frozen=True)
class Container:
    """One container.

    `image` is the reference it was made from, `image_id` what that was; `ports` are asked for,
    `published` are at work; `labels` are Compose's and ours; `pid` is 0 unless it runs; `health` is
    None without a health check.
    """

    id: str
    name: str
    image_id: str
    image: str
    running: bool
    status: str
    health: str | None
    started_at: str
    restart_count: int
    restart_policy: str
    devices: tuple[str, ...]
    group_add: tuple[str, ...]
    ports: tuple[Port, ...]
    published: tuple[Port, ...]
    mounts: tuple[Mount, ...]
    environment: Mapping[str, str]
    labels: Mapping[str, str]
    network_mode: str
    privileged: bool
    addresses: tuple[str, ...]
    pid: int

    @property
    def project(self) -> str | None:
        """Compose's project, or None when Compose did not make it."""
        return self.labels.get(f"{COMPOSE}project")

    @property
    def config_files(self) -> tuple[str, ...]:
        """The paths of the Compose files it was made from."""
        paths = self.labels.get(f"{COMPOSE}project.config_files", "")
        return tuple(path for path in paths.split(",") if path)

    @property
    def working_dir(self) -> str | None:
        """The folder that Compose took relative paths from."""
        return self.labels.get(f"{COMPOSE}project.working_dir")


@dataclass(frozen=True)
class Image:
    """One image; `labels` are those of org.opencontainers.image and ours."""

    id: str
    repo_digests: tuple[str, ...]
    repo_tags: tuple[str, ...]
    labels: Mapping[str, str]
    architecture: str


@dataclass(frozen=True)
class Containers:
    """Every container, newest first; every image by its id; the names of all volumes."""

    containers: tuple[Container, ...]
    images: Mapping[str, Image]
    volumes: tuple[str, ...]

    def named(self, name: str) -> Container | None:
        """Return the container of that name."""
        return next((found for found in self.containers if found.name == name), None)

    def image_of(self, container: Container) -> Image | None:
        """Return the container's image, or None if it was removed by force."""
        return self.images.get(container.image_id)

    @property
    def ollama(self) -> Container | None:
        """The container that `ollama_container` of container_commands prints."""
        ranked = ((_rank(container), container) for container in self.containers)
        candidates = [(rank, container) for rank, container in ranked if rank is not None]
        return min(candidates, key=lambda found: found[0])[1] if candidates else None


def _rank(container: Container) -> int | None:
    if MADE_FROM in container.labels:
        return -2 + (not container.running)
    if OLLAMA in (container.name, container.labels.get(SERVICE)):
        return 0 + (not container.running)
    if _OLLAMA_IMAGE.search(container.image):
        return 2 + (not container.running)
    return None


def parse(text: str) -> Containers:
    """Read the lines that COMMAND prints; without docker there are no containers.

    Raises:
        ParseError: docker does not answer, or its answer was cut or is of another form.
    """
    lines = [line for line in text.split("\n") if line]
    if lines == ["absent"]:
        return Containers((), {}, ())
    if len(lines) == 1 and lines[0].startswith("refused "):
        raise ParseError(f"docker does not answer: {lines[0].removeprefix('refused ')}")
    if lines[-1:] != ["end"]:
        raise ParseError("docker's answer ends in the middle")
    containers = tuple(_container(*block) for block in _blocks(lines, "container"))
    images = [_image(*block) for block in _blocks(lines, "image")]
    volumes = (line.removeprefix("volume ") for line in lines if line.startswith("volume "))
    return Containers(containers, {image.id: image for image in images}, tuple(volumes))


def _blocks(lines: Iterable[str], kind: str) -> Iterator[tuple[Mapping[str, Any], list[str]]]:
    """Each object of a kind, and the lines of its environment and labels."""
    block: tuple[Mapping[str, Any], list[str]] | None = None
    for line in lines:
        if line.startswith(("env ", "label ")):
            if block:
                block[1].append(line)
            continue
        if block:
            yield block
        block = None
        if line.startswith(f"{kind} "):
            block = (load_object(line.removeprefix(f"{kind} ")), [])


def _container(members: Mapping[str, Any], lines: list[str]) -> Container:
    return Container(
        id=member(members, "id", ""),
        name=member(members, "name", "").removeprefix("/"),
        image_id=member(members, "image_id", ""),
        image=member(members, "image", ""),
        running=member(members, "running", False),
        status=member(members, "status", ""),
        health=member(members, "health", "") or None,
        started_at=member(members, "started_at", ""),
        restart_count=member(members, "restart_count", 0),
        restart_policy=member(members, "restart_policy", ""),
        devices=tuple(member(device, "PathOnHost", "") for device in objects(members, "devices")),
        group_add=texts(members, "group_add"),
        ports=_ports(member(members, "ports", {})),
        published=_ports(member(members, "published", {})),
        mounts=tuple(_mount(mount) for mount in objects(members, "mounts")),
        environment=_environment(lines),
        labels=_labels(lines, (COMPOSE, "apuhost.")),
        network_mode=member(members, "network_mode", ""),
        privileged=member(members, "privileged", False),
        addresses=_addresses(member(members, "addresses", [])),
        pid=member(members, "pid", 0),
    )


def _addresses(values: list[object]) -> tuple[str, ...]:
    return tuple(checked(value, str) for value in values if value)


def _image(members: Mapping[str, Any], lines: list[str]) -> Image:
    return Image(
        id=member(members, "id", ""),
        repo_digests=texts(members, "repo_digests"),
        repo_tags=texts(members, "repo_tags"),
        labels=_labels(lines, ("org.opencontainers.image.", "apuhost.")),
        architecture=member(members, "architecture", ""),
    )


def _ports(published: Mapping[str, Any]) -> tuple[Port, ...]:
    """An exposed port that is not published has no bindings: null."""
    return tuple(
        Port(port, member(binding, "HostIp", ""), _port(member(binding, "HostPort", "")))
        for port in published
        for binding in objects(published, port)
    )


def _port(text: str) -> int:
    """An asked port may be empty, 0 or a range such as 8000-8010: then docker chooses; 0 here."""
    return int(text) if re.fullmatch(r"[0-9]{1,5}", text) else 0


def _mount(members: Mapping[str, Any]) -> Mount:
    return Mount(
        type=member(members, "Type", ""),
        name=member(members, "Name", ""),
        source=member(members, "Source", ""),
        destination=member(members, "Destination", ""),
        writable=member(members, "RW", False),
    )


def _environment(lines: Iterable[str]) -> dict[str, str]:
    settings = (
        checked(load(line.removeprefix("env ")), str) for line in lines if line.startswith("env ")
    )
    return dict(setting.split("=", 1) for setting in settings if "=" in setting)


def _labels(lines: Iterable[str], prefix: str | tuple[str, ...]) -> dict[str, str]:
    pairs = (load(line.removeprefix("label ")) for line in lines if line.startswith("label "))
    return {name: value for name, value in map(_pair, pairs) if name.startswith(prefix)}


def _pair(values: object) -> tuple[str, str]:
    match values:
        case [str(name), str(value)]:
            return name, value
    raise ParseError("a label of docker's is no pair of strings")
