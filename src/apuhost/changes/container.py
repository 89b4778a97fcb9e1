"""Where Ollama's container is not as the compose file says."""

from collections.abc import Iterator

from apuhost import environment
from apuhost.changes import compose
from apuhost.changes.image import has_digest
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.container_commands import MADE_FROM
from apuhost.probes.containers import Container, Port
from apuhost.settings.ollama import OllamaSettings

PORT = "11434/tcp"

ANYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104  (compared, not bound)


def differences(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the container must be made, made again, or started."""
    asked = derived.settings.ollama
    container = facts.containers.named(asked.ollama_container_name)
    if container is None:
        return ("there is none",)
    stopped = () if container.running else (f"it is {container.status}",)
    left = facts.containers.named(before(asked))
    replaced = (f"{left.name} is still there",) if left else ()
    return (*made_otherwise(derived, facts), *stopped, *replaced)


def before(asked: OllamaSettings) -> str:
    """The name of the container of somebody else until ours in its place answers."""
    return f"{asked.ollama_container_name}-before-apuhost"


def made_otherwise(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the container that is there must be made again: to start it would not do."""
    asked = derived.settings.ollama
    container = facts.containers.named(asked.ollama_container_name)
    if container is None:
        return ()
    seen = (
        *origin(asked, container),
        *image(asked, container, facts),
        *ports(asked, container),
        *hardware(derived, container, facts),
        *variables(derived, container),
        *mounts(derived, container),
    )
    return seen or tuple(unseen(derived, container, facts))


def of_project(asked: OllamaSettings, container: Container) -> bool:
    """Whether compose made it for our project and service."""
    service = container.labels.get("com.docker.compose.service")
    return (container.project, service) == (asked.ollama_project, compose.SERVICE)


def by_compose(asked: OllamaSettings, container: Container) -> tuple[str, ...]:
    """What makes compose take up again a container of our project that other files describe."""
    files = container.config_files
    if not of_project(asked, container) or files == (compose.PATH,):
        return ()
    folder = ("--project-directory", container.working_dir) if container.working_dir else ()
    named = (word for path in files for word in ("-f", path))
    return ("-p", asked.ollama_project, *folder, *named)


def origin(asked: OllamaSettings, container: Container) -> Iterator[str]:
    """Who made it, where it was not our compose project of our file alone."""
    if not of_project(asked, container):
        by = f"compose project {container.project}" if container.project else "docker run"
        yield f"it was made by {by}, not by compose project {asked.ollama_project}"
    elif container.config_files != (compose.PATH,):
        yield f"it was made from {' and '.join(container.config_files) or 'no file'}"


def image(asked: OllamaSettings, container: Container, facts: HostFacts) -> Iterator[str]:
    """Its image, where that is not the pinned one."""
    found = facts.containers.image_of(container)
    if found is None or not has_digest(found, asked.digest):
        shown = ", ".join(found.repo_digests) if found else ""
        yield f"its image is {shown or container.image}"


def ports(asked: OllamaSettings, container: Container) -> Iterator[str]:
    """Where it is published, when that is not where it should be."""
    if container.ports != (Port(PORT, asked.address, asked.port),):
        yield f"its port is {', '.join(map(published, container.ports)) or 'not published'}"


def published(port: Port) -> str:
    """An address and port for people."""
    return f"{'every address' if port.host_ip in ANYWHERE else port.host_ip}:{port.host_port}"


def hardware(derived: Derived, container: Container, facts: HostFacts) -> Iterator[str]:
    """Devices, rights, groups, network and restart policy that differ."""
    lacking = sorted(set(compose.devices(derived)) - set(container.devices))
    if lacking and not container.privileged:
        yield f"it lacks the device {', '.join(lacking)}"
    if container.privileged:
        yield "it is privileged"
    own = f"{derived.settings.ollama.ollama_project}_default"
    if container.network_mode != own:
        yield f"its network is {container.network_mode}, not {own}"
    wanted = compose.groups(facts)
    if sorted(container.group_add) != sorted(wanted):
        yield f"its groups are {', '.join(container.group_add) or 'none'}, not {', '.join(wanted)}"
    if container.restart_policy != "unless-stopped":
        yield f"its restart policy is {container.restart_policy or 'no'}"


def variables(derived: Derived, container: Container) -> Iterator[str]:
    """Variables that differ, and those of Ollama that nobody asked for."""
    wanted, found = compose.variables(derived), container.environment
    for name, value in wanted.items():
        if found.get(name) != value:
            yield f"{name} is {found.get(name, 'not set')}, not {value}"
    for name in sorted(found.keys() - wanted.keys()):
        if environment.chosen(name):
            yield f"{name} is {found[name]}, and nobody asked for it"


def mounts(derived: Derived, container: Container) -> Iterator[str]:
    """Models or certificates that are not where they should be."""
    if compose.store_of(container) is None:
        yield f"its models are in no volume ({compose.STORE} is not mounted)"
    trusting = any(each.destination == compose.SITE_CA for each in container.mounts)
    wanted = bool(derived.settings.docker.docker_site_ca)
    if wanted and not trusting:
        yield "it does not know the site's certificates"
    if trusting and not wanted:
        yield "it knows certificates of a site that nobody asked for"
    for each in container.mounts:
        if each.type == "bind" and each.destination not in (compose.STORE, compose.SITE_CA):
            yield f"it has {each.source} of the host at {each.destination}"


def unseen(derived: Derived, container: Container, facts: HostFacts) -> Iterator[str]:
    """That it was made of another state of what docker does not show."""
    found = container.labels.get(MADE_FROM)
    if found != compose.made_from(derived, facts):
        yield f"{compose.PATH}, or the site's certificates, changed since it was made"
