"""What the roles vulkan and docker must not be deployed to, and why."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from apuhost.changes import docker as docker_changes
from apuhost.changes import docker_ce
from apuhost.changes import vulkan as vulkan_changes
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes import daemon_json
from apuhost.verdicts.docker import has_data_in
from apuhost.verdicts.refusals.room import MIB, lacking
from apuhost.verdicts.refusals.topic import Refusal

PACKAGES_BYTES = 1024 * MIB
"""Mesa with LLVM, firmware and Docker unpack to 700 MB on Debian 13."""

LEAST_ENGINE = (23, 0)


def _room_for(*missing: Callable[[Derived, HostFacts], tuple[str, ...]]) -> Refusal:
    """Room for packages, where some are missing."""

    def asked(derived: Derived, facts: HostFacts) -> Iterator[str]:
        due = any(each(derived, facts) for each in missing)
        yield from lacking("/", PACKAGES_BYTES if due else 0, facts)

    return asked


def _gpu_users(derived: Derived, facts: HostFacts) -> Iterator[str]:
    return _strangers("vulkan_users", derived.settings.vulkan.vulkan_users, facts)


def _docker_users(derived: Derived, facts: HostFacts) -> Iterator[str]:
    return _strangers("docker_users", derived.settings.docker.docker_users, facts)


def _strangers(key: str, users: Iterable[str], facts: HostFacts) -> Iterator[str]:
    for user in users:
        if user not in facts.accounts.users:
            yield f"{key} names {user}, and the host has no such user"


def _firmware(derived: Derived, facts: HostFacts) -> Iterator[str]:
    due = vulkan_changes.firmware(derived, facts)
    lacking = due and vulkan_changes.lacks_component(derived, facts)
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
    elif engine.source == "other" and not engine.installed:
        missing = " and no ".join(engine.missing)
        yield f"its docker came from no package, and there is no {missing}: remove it"
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
            f"{known} is installed, and there is no {' and no '.join(facts.docker.missing)}: "
            "apt-get install --reinstall its packages"
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
