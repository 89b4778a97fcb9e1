"""What the docker role changes: proxy and certificates, daemon.json, the engine, its users."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from apuhost import roles
from apuhost.changes import FileChange, RolePlan, docker_ce, due, needed, site_ca, unproxied
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes import ParseError, daemon_json

DAEMON_JSON = "/etc/docker/daemon.json"
PROXY_DROP_IN = "/etc/systemd/system/docker.service.d/zz-apuhost-proxy.conf"
APT_PROXY = "/etc/apt/apt.conf.d/zz-apuhost-proxy"
GROUP = "docker"

ENGINES = frozenset({"docker.io", "docker-ce"})
"""The packages with dockerd, of which dpkg has one at a time."""

RELOADED = frozenset({"live-restore", "registry-mirrors", "insecure-registries", "debug", "labels"})
"""Keys of daemon.json that dockerd takes up while it runs (dockerd(8), reload of configuration)."""


def plan(derived: Derived, facts: HostFacts) -> RolePlan:
    """Everything that is due for the docker role."""
    return RolePlan(
        "docker",
        files=(
            *network(derived, facts),
            *docker_ce.repository(derived, facts),
            *daemon_file(derived, facts),
            *site_ca.leaving(derived, facts),
        ),
        actions=(
            *due("certificates", "made known", _untrusted(derived, facts)),
            *due("Docker's key", "fetched and compared", docker_ce.key(derived, facts)),
            *due("packages", "removed for docker-ce", docker_ce.conflicting(derived, facts)),
            *due("packages", "installed", packages(derived, facts)),
            *due("engine", "started", stopped(derived, facts)),
            *due("engine", "restarted, containers keep running", restarting(derived, facts)),
            *due(f"group {GROUP}", "joined", joining(derived, facts)),
        ),
        kept=tuple(_kept(derived, facts)),
        notes=tuple(_notes(derived, facts)),
    )


def network(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The site's certificates and proxy, before anything is downloaded."""
    proxied = bool(derived.settings.docker.docker_proxy)
    paths = (APT_PROXY, PROXY_DROP_IN)
    wanted = {path: _rendered(path, derived, facts) if proxied else "" for path in paths}
    files = {file.path: file.text for file in (*facts.units.files, *facts.daemon_json.drop_ins)}
    return (
        *site_ca.arriving(derived, facts),
        *(
            FileChange(path, files.get(path), text, _why(files.get(path), text), operators=False)
            for path, text in wanted.items()
            if files.get(path, "") != text
        ),
    )


def values(derived: Derived, facts: HostFacts) -> dict[str, object]:
    """The variables that roles/docker/templates may use."""
    docker = derived.settings.docker
    given = derived.settings.mirrored("images")
    mirror = [derived.settings.mirror.mirror_address] if given else []
    return {
        **docker.model_dump(),
        "docker_no_proxy": [*docker.docker_no_proxy, *mirror],
        "docker_direct_hosts": unproxied.hosts(derived, facts),
    }


def daemon_values(derived: Derived) -> dict[str, object]:
    """Our keys of daemon.json; all others are the operator's."""
    docker = derived.settings.docker
    logs = {"max-size": f"{docker.docker_log_max_mb}m", "max-file": str(docker.docker_log_files)}
    root = {"data-root": docker.docker_data_root} if docker.docker_data_root else {}
    return {"log-driver": "json-file", "log-opts": logs, "live-restore": True, **root}


def daemon_file(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """daemon.json with our keys; as it is when it is no JSON or no file (that is refused)."""
    before, ours = facts.daemon_json.daemon_json, daemon_values(derived)
    if holds(before, ours) or facts.daemon_json.in_its_place:
        return ()
    try:
        after = daemon_json.merged(_without_foreign_logs(before), ours, DAEMON_JSON)
    except ParseError:
        return ()
    why = "new" if before is None else "our keys set"
    return (FileChange(DAEMON_JSON, before, after, why, operators=True),)


def holds(text: str | None, wanted: Mapping[str, Any]) -> bool:
    """Whether daemon.json has every key as wanted, however it is written."""
    found = daemon_json.parse(text or "").values
    return all(_agrees(found.get(key), value) for key, value in wanted.items())


def _agrees(found: object, wanted: object) -> bool:
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(found.get(key) == value for key, value in wanted.items())
    return found == wanted


def _without_foreign_logs(text: str | None) -> str | None:
    """Less the options of another log driver: dockerd would refuse to start containers."""
    found = daemon_json.parse(text or "").values
    if "log-opts" not in found or found.get("log-driver", "json-file") == "json-file":
        return text
    return json.dumps({key: value for key, value in found.items() if key != "log-opts"}, indent=2)


def _untrusted(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the host's trust is made anew: the site's certificates come, change or go."""
    going = tuple(f"{change.path} goes" for change in site_ca.leaving(derived, facts))
    return (*site_ca.untrusted(derived, facts), *going)


def works(facts: HostFacts) -> bool:
    """Whether there is an engine that answers, with compose."""
    return facts.docker.server is not None and facts.docker.compose is not None


def comes_up(derived: Derived, facts: HostFacts) -> bool:
    """Whether an engine that is here does not answer, and a deploy will complete or start it."""
    return facts.docker.silent and "docker" in derived.settings.host.host_roles


def packages(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Packages that the engine lacks, of the source that was asked for."""
    installed = facts.packages.installed
    asked = derived.settings.docker.docker_source
    whole = facts.docker.installed and facts.docker.compose is not None
    if asked == "auto" and facts.docker.source == "other":
        return ()  # it is kept, and started where it does not run
    if asked == "auto" and whole:
        known = (*docker_ce.PACKAGES, *needed.DOCKER[facts.os_release.family])
        return tuple(name for name in known if name in facts.packages.broken)
    wanted = needed.engine(source(derived, facts), facts.os_release.family)
    return tuple(name for name in wanted if name not in installed)


def source(derived: Derived, facts: HostFacts) -> str:
    """Whose packages are to be whole: distro or docker-ce."""
    asked = derived.settings.docker.docker_source
    own = "docker-ce" if "docker-ce" in docker_ce.there(facts) else "distro"
    return own if asked == "auto" else asked


def installed_source(facts: HostFacts) -> str:
    """Where the engine came from: none, distro, docker-ce, snap, podman or other."""
    if "docker-ce" in facts.packages.installed:
        return "docker-ce"
    if "docker.io" in facts.packages.installed:
        return "distro"
    return "none" if facts.docker.source == "package" else facts.docker.source


def stopped(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the engine must be started: it does not run, or not after the next boot."""
    if packages(derived, facts) and not facts.docker.installed:
        return ()  # its package starts it
    unit = facts.units.units.get("docker.service")
    if unit is None or unit.load_state == "not-found":
        return ()
    said = []
    if not facts.docker.active:
        said.append(f"docker.service is {unit.active_state}")
    if not facts.docker.enabled:
        said.append(f"docker.service is {unit.unit_file_state or 'not enabled'}")
    return tuple(said)


def outdated(facts: HostFacts) -> tuple[str, ...]:
    """What dockerd read at its start and has changed since."""
    if not facts.docker.active:
        return ()
    return tuple(f"{path} is newer than dockerd" for path in facts.units.newer_than_docker)


def restarting(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """The same, and what a deploy changes of it."""
    if not facts.docker.active:
        return ()
    read = [change for change in network(derived, facts) if change.path != APT_PROXY]
    read += [each for each in daemon_file(derived, facts) if not reload_is_enough(each)]
    read += site_ca.leaving(derived, facts)
    return (*outdated(facts), *(f"{change.path} changes" for change in read))


def joining(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Users who are not in the group docker yet."""
    group = facts.accounts.groups.get(GROUP)
    members = group.members if group else frozenset()
    return tuple(user for user in derived.settings.docker.docker_users if user not in members)


def members(derived: Derived, facts: HostFacts) -> tuple[tuple[str, str], ...]:
    """The same with the group's name."""
    return tuple((user, GROUP) for user in joining(derived, facts))


def reload_is_enough(change: FileChange) -> bool:
    """Whether dockerd takes up this change of daemon.json while it runs."""
    before, after = (daemon_json.parse(text or "").values for text in (change.before, change.after))
    keys = before.keys() | after.keys()
    return all(key in RELOADED for key in keys if before.get(key) != after.get(key))


def reloads(change: FileChange, facts: HostFacts) -> bool:
    """Whether it is told to: not while older changes, which a reload would hide, need a restart."""
    return facts.docker.active and reload_is_enough(change) and not outdated(facts)


def _rendered(path: str, derived: Derived, facts: HostFacts) -> str:
    return roles.render("docker", path, values(derived, facts))


def _why(before: str | None, after: str) -> str:
    if not after:
        return "emptied: nothing of it is asked for"
    return "new" if before is None else "brought up to date"


def _kept(derived: Derived, facts: HostFacts) -> Iterator[str]:
    if works(facts) and not packages(derived, facts):
        yield f"keeps {_name(facts)} {facts.docker.server}"


def _name(facts: HostFacts) -> str:
    source = installed_source(facts)
    return (
        "docker.io" if source == "distro" else f"docker ({source})" if source == "other" else source
    )


def _notes(derived: Derived, facts: HostFacts) -> Iterator[str]:
    if users := joining(derived, facts):
        yield f"in the group docker, {', '.join(users)} can become root"
    if derived.settings.docker.docker_source == "auto" and packages(derived, facts):
        yield "no whole engine: the distribution's is installed"
    for host in unproxied.inexpressible(derived, facts):
        yield f"apt asks the proxy for {host}, too: its file names no address of IPv6"
    yield from site_ca.notes(derived, facts)
