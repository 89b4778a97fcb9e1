"""What the roles ollama and models must not be deployed to, and why."""

from collections.abc import Iterator, Mapping

from apuhost.changes import compose, container, port, reboot, site_ca
from apuhost.changes import docker as docker_changes
from apuhost.changes import ollama as ollama_changes
from apuhost.changes import vulkan as vulkan_changes
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.containers import Container, Mount
from apuhost.probes.firewall import Listening
from apuhost.settings.ollama import OllamaSettings
from apuhost.verdicts.refusals.room import MIB, lacking
from apuhost.verdicts.refusals.topic import Refusal

IMAGE_BYTES = 6 * 1024 * MIB
"""Ollama's image unpacks to 4 GB, and Docker keeps the packed layer until it is done."""

CONTAINERD = "/var/lib/containerd"
"""containerd's root, whatever Docker's data-root (Docker's manual, "containerd image store")."""

MODELS_FOLDER = f"{compose.STORE}/models"
"""Where Ollama has its models unless OLLAMA_MODELS says otherwise."""


def _image_room(derived: Derived, facts: HostFacts) -> Iterator[str]:
    due = ollama_changes.image(derived, facts)
    yield from lacking(images_at(derived, facts), IMAGE_BYTES if due else 0, facts)


def images_at(derived: Derived, facts: HostFacts) -> str:
    """Where an engine puts images: containerd's store is not in Docker's own folder."""
    if facts.docker.containerd_store:
        return CONTAINERD
    return volumes_at(derived, facts)


def volumes_at(derived: Derived, facts: HostFacts) -> str:
    """Where an engine has its volumes, or will have them."""
    return derived.settings.docker.docker_data_root or facts.docker.data_root or "/var/lib/docker"


def _listening(facts: HostFacts) -> tuple[Listening, ...]:
    if facts.firewall.listening is None:
        raise Unreadable("firewall: ss (iproute2) does not tell which ports are taken")
    return facts.firewall.listening


def _port(derived: Derived, facts: HostFacts) -> Iterator[str]:
    asked = derived.settings.ollama
    own = [each for each in facts.containers.containers if _is_ours(asked, each)]
    at_port = [
        each
        for each in facts.containers.containers
        if (each in own and each.network_mode == "host")
        or any(bound.host_port == asked.port for bound in each.published)
    ]
    theirs = [f"container {each.name}" for each in at_port if each not in own]
    ours = any(each in own for each in at_port)
    listening = any(each.port == asked.port for each in _listening(facts))
    if theirs or (listening and not ours):
        who = theirs[0] if theirs else "another program, an Ollama outside of Docker perhaps"
        yield f"port {asked.port} is taken by {who}: stop it, or choose another ollama_listen"


def _is_ours(asked: OllamaSettings, found: Container) -> bool:
    """By a name of ours, or by the one that compose gives it until the one before is gone."""
    names = (asked.ollama_container_name, container.before(asked))
    return found.name in names or container.of_project(asked, found)


def _nodes(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """Without the GPU's nodes no container starts, and one that serves now would be gone."""
    firmware = "vulkan" in derived.settings.host.host_roles and vulkan_changes.firmware(
        derived, facts
    )
    if facts.nodes.render is None and not firmware and not reboot.reasons(derived, facts):
        yield "it has no /dev/dri/renderD*, and no reboot is due that would help: see gpu.driver"


def _unguarded(derived: Derived, facts: HostFacts) -> Iterator[str]:
    if port.guarded(derived.settings.ollama) and (why := port.powerless(facts)):
        yield f"{why}: ollama_allow_from would guard nothing; let Docker use iptables, or empty it"


def _site_ca(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """The container mounts the file, and Docker starts none without it."""
    asked = derived.settings
    there = facts.units.text(site_ca.PATH) is not None
    if asked.docker.docker_site_ca and not there and "docker" not in asked.host.host_roles:
        yield (
            f"docker_site_ca is asked for, and {site_ca.PATH}, which the role docker writes, is "
            "not there: put it there by hand, add docker to host_roles, or empty docker_site_ca"
        )


def _models_elsewhere(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """A container keeps its models through a mount at the usual place alone."""
    found = facts.containers.named(derived.settings.ollama.ollama_container_name)
    if found is None:
        return
    path = found.environment.get("OLLAMA_MODELS", "").rstrip("/") or MODELS_FOLDER
    mount = _holding(path, found)
    if mount is None:
        yield (
            f"container {found.name} has its models in itself, in {path}: they would be lost with "
            f"it; copy them into {MODELS_FOLDER} of a volume at {compose.STORE}, or remove the "
            "container"
        )
    elif mount.destination != compose.STORE:
        yield (
            f"container {found.name} has its models in a mount at {mount.destination}, and apuhost "
            f"takes over one at {compose.STORE} alone: move them into {MODELS_FOLDER} of such a one"
        )
    elif path != MODELS_FOLDER:
        yield (
            f"container {found.name} has its models in {path} (OLLAMA_MODELS): move them into "
            f"{MODELS_FOLDER} by hand"
        )
    elif mount.type == "bind" and ":" in mount.source:
        yield f"its models are in {mount.source}: a compose file takes no colon in a folder's name"


def _holding(path: str, container: Container) -> Mount | None:
    """The mount that has a path of a container: the one that leads furthest to it."""
    leading = (
        mount
        for mount in container.mounts
        if f"{path}/".startswith(f"{mount.destination.rstrip('/')}/")
    )
    return max(leading, key=lambda mount: len(mount.destination), default=None)


def _models(_: Derived, facts: HostFacts) -> Iterator[str]:
    for path in facts.model_store.broken:
        yield f"{path} is no manifest: remove it, or pull that model again by hand"


def _when_docker_runs(refusal: Refusal) -> Refusal:
    """Asked again by the deploy when it has started an engine that does not answer now."""

    def asked(derived: Derived, facts: HostFacts) -> Iterator[str]:
        return iter(()) if docker_changes.comes_up(derived, facts) else refusal(derived, facts)

    return asked


OLLAMA: Mapping[str, Refusal] = {
    "room for the image": _when_docker_runs(_image_room),
    "port": _when_docker_runs(_port),
    "port's guard": _unguarded,
    "GPU's nodes": _nodes,
    "site's certificates": _site_ca,
    "models' volume": _when_docker_runs(_models_elsewhere),
}
MODELS: Mapping[str, Refusal] = {"models": _when_docker_runs(_models)}
