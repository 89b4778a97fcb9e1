"""What the roles from vulkan to models must not be deployed to, and why."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from apuhost.changes import compose, container, docker_ce, port, reboot
from apuhost.changes import docker as docker_changes
from apuhost.changes import ollama as ollama_changes
from apuhost.changes import vulkan as vulkan_changes
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes import daemon_json
from apuhost.probes.containers import Container
from apuhost.probes.firewall import Listening
from apuhost.settings.ollama import OllamaSettings
from apuhost.verdicts.docker import has_data_in
from apuhost.verdicts.refusals.topic import Refusal

MIB = 1024 * 1024
PACKAGES_BYTES = 1024 * MIB
"""Mesa with LLVM, firmware and Docker unpack to 700 MB on Debian 13."""

IMAGE_BYTES = 6 * 1024 * MIB
"""Ollama's image unpacks to 4 GB, and Docker keeps the packed layer until it is done."""

LEAST_ENGINE = (23, 0)


def _room_for(*missing: Callable[[Derived, HostFacts], tuple[str, ...]]) -> Refusal:
    """Room for packages, where some are missing."""

    def asked(derived: Derived, facts: HostFacts) -> Iterator[str]:
        due = any(each(derived, facts) for each in missing)
        yield from _lacking("/", PACKAGES_BYTES if due else 0, facts)

    return asked


def _image_room(derived: Derived, facts: HostFacts) -> Iterator[str]:
    root = derived.settings.docker.docker_data_root or facts.docker.data_root or "/var/lib/docker"
    yield from _lacking(root, IMAGE_BYTES if ollama_changes.image(derived, facts) else 0, facts)


def _lacking(path: str, needed: int, facts: HostFacts) -> Iterator[str]:
    mount = facts.disk.under(path)
    if needed and mount is None:
        yield f"free space under {path} could not be read"
    elif mount is not None and mount.available_bytes < needed:
        yield f"{path} has {mount.available_bytes // MIB} MiB free, {needed // MIB} are needed"


def _gpu_users(derived: Derived, facts: HostFacts) -> Iterator[str]:
    return _strangers("vulkan_users", derived.settings.vulkan.vulkan_users, facts)


def _docker_users(derived: Derived, facts: HostFacts) -> Iterator[str]:
    return _strangers("docker_users", derived.settings.docker.docker_users, facts)


def _strangers(key: str, users: Iterable[str], facts: HostFacts) -> Iterator[str]:
    for user in users:
        if user not in facts.accounts.users:
            yield f"{key} names {user}, and the host has no such user"


def _firmware(derived: Derived, facts: HostFacts) -> Iterator[str]:
    lacking = vulkan_changes.firmware(derived, facts) and vulkan_changes.lacks_component(facts)
    if lacking and not vulkan_changes.sources(derived, facts):
        name = vulkan_changes.firmware_package(facts)
        part = vulkan_changes.COMPONENT
        unknown = ", ".join(vulkan_changes.unknown_sources(derived, facts))
        where = f" (is it {unknown}?)" if unknown else ""
        yield f"{name} is in no package source: add {part} to Debian's by hand{where}"


def _engine(derived: Derived, facts: HostFacts) -> Iterator[str]:
    engine = facts.docker
    if engine.source == "snap":
        yield "its docker is a snap, which sees neither /etc/docker nor /dev/dri: remove it"
    elif engine.source == "podman":
        yield "its docker is podman: remove podman-docker, then repeat"
    elif engine.source == "other" and not engine.server:
        yield "its docker came from no package and does not answer: start it, or remove it"
    elif engine.source == "other" and not engine.compose:
        yield "its docker came from no package and has no compose plugin: add that by hand"
    elif engine.rootless:
        yield "its docker runs without root and cannot guard a port: use the system's dockerd"
    elif engine.swarm:
        yield "its docker is part of a swarm, which excludes live-restore: leave the swarm first"
    elif engine.server and _version(engine.server) < LEAST_ENGINE:
        yield f"its docker {engine.server} is older than 23.0: see docker_source"
    old = facts.os_release.id == "debian" and _version(facts.os_release.version or "0") < (13,)
    if old and docker_changes.packages(derived, facts) and not docker_ce.wanted(derived):
        yield 'its Debian\'s own Docker is older than 23.0: docker_source = "docker-ce"'
    yield from _packages_of_docker(derived, facts)


def _packages_of_docker(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """Packages of two sources exclude each other, and apt would say it in the middle."""
    there, missing = docker_ce.there(facts), docker_changes.packages(derived, facts)
    asked = derived.settings.docker.docker_source
    beside = [name for name in docker_ce.PACKAGES if name in there]
    broken = docker_changes.ENGINES.intersection(facts.packages.broken)
    if asked == "distro" and "docker-ce" in there:
        yield "docker_source is distro, and docker-ce is installed: remove that, or say auto"
    elif asked == "auto" and there >= docker_changes.ENGINES and broken:
        yield "docker-ce and docker.io are both there, not whole: remove one of them, then repeat"
    elif missing and beside and docker_changes.source(derived, facts) == "distro":
        yield (
            f"{', '.join(beside)} of Docker's own packages is there without docker-ce: remove it, "
            'or docker_source = "docker-ce"'
        )
    elif not missing and not facts.docker.installed and facts.docker.source in ("none", "package"):
        known = ", ".join(sorted(docker_changes.ENGINES & there))
        yield (
            f"{known} is installed, and docker or dockerd does not run: apt-get install "
            "--reinstall its packages"
        )


def _version(text: str) -> tuple[int, ...]:
    numbers = text.split("-", maxsplit=1)[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdigit())


def _daemon_json(_: Derived, facts: HostFacts) -> Iterator[str]:
    found = daemon_json.parse(facts.daemon_json.daemon_json or "")
    if kind := facts.daemon_json.in_its_place:
        yield f"{docker_changes.DAEMON_JSON} is a {kind}: remove it, or put a file in its place"
    elif found.error:
        error = found.error
        yield (
            f"{docker_changes.DAEMON_JSON} is no JSON: {error.message} in line {error.line}, "
            f"column {error.column}; mend it by hand"
        )


def _data_root(derived: Derived, facts: HostFacts) -> Iterator[str]:
    """What is there is not moved: another root would be an empty one, without a word."""
    wanted = derived.settings.docker.docker_data_root
    found = facts.docker.data_root
    if found is None and facts.docker.installed:  # silent: dockerd's own default, or what it reads
        values = daemon_json.parse(facts.daemon_json.daemon_json or "").values
        found = str(values.get("data-root", "/var/lib/docker"))
    if wanted and found and wanted != found and not has_data_in(wanted, facts):
        yield f"docker_data_root is {wanted}, and docker's data are in {found}: move them by hand"


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


def _models_inside(derived: Derived, facts: HostFacts) -> Iterator[str]:
    name = derived.settings.ollama.ollama_container_name
    found = facts.containers.named(name)
    if found is None:
        return
    if compose.store_of(found) is None:
        yield (
            f"container {name} has its models in itself: they would be lost with it; copy "
            f"{compose.STORE} into a volume, or remove the container"
        )
    mount = compose.store_of(found)
    if mount and mount.type == "bind" and ":" in mount.source:
        yield f"its models are in {mount.source}: a compose file takes no colon in a folder's name"
    elsewhere = found.environment.get("OLLAMA_MODELS", "")
    if elsewhere and elsewhere.rstrip("/") != f"{compose.STORE}/models":
        yield f"container {name} has its models at {elsewhere} (OLLAMA_MODELS): move them by hand"


def _models(_: Derived, facts: HostFacts) -> Iterator[str]:
    for path in facts.model_store.broken:
        yield f"{path} is no manifest: remove it, or pull that model again by hand"


def _when_docker_runs(refusal: Refusal) -> Refusal:
    """Asked again by the deploy when it has started an engine that does not answer now."""

    def asked(derived: Derived, facts: HostFacts) -> Iterator[str]:
        return iter(()) if docker_changes.comes_up(derived, facts) else refusal(derived, facts)

    return asked


VULKAN: Mapping[str, Refusal] = {
    "users of the GPU": _gpu_users,
    "firmware": _firmware,
    "room for Vulkan": _room_for(vulkan_changes.packages, vulkan_changes.firmware),
}
DOCKER: Mapping[str, Refusal] = {
    "users of docker": _docker_users,
    "room for Docker": _room_for(docker_changes.packages),
    "engine": _engine,
    "daemon.json": _daemon_json,
    "data root": _data_root,
}
OLLAMA: Mapping[str, Refusal] = {
    "room for the image": _when_docker_runs(_image_room),
    "port": _when_docker_runs(_port),
    "port's guard": _unguarded,
    "GPU's nodes": _nodes,
    "models' volume": _when_docker_runs(_models_inside),
}
MODELS: Mapping[str, Refusal] = {"models": _when_docker_runs(_models)}
