"""Verdicts on the docker role: does the engine work, with our settings, through the network?"""

import json
import re
from collections.abc import Iterator

from apuhost import verdict_ids
from apuhost.changes import docker as changes
from apuhost.changes import site_ca
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes import daemon_json as daemon_file
from apuhost.probes.docker import Docker
from apuhost.settings import Settings
from apuhost.verdicts import Found, Layer, Question, Verdict, judge
from apuhost.verdicts.parameter import DEPLOY

UNIT = "docker.service"
JOURNAL = f"journalctl -b -u {UNIT}"
UNFIT = {
    "snap": (
        "its docker is a snap, which sees neither /etc/docker nor /dev/dri",
        "snap remove docker, then deploy",
    ),
    "podman": ("its docker is podman", "apt-get remove podman-docker, then deploy"),
}
ROOTLESS = ("its docker runs without root", "dockerd-rootless-setuptool.sh uninstall, then deploy")

_REMAPPED = re.compile(r"/[0-9]+\.[0-9]+$")

IDS = verdict_ids.DOCKER
"""What `verdicts` answers, in its order."""


def verdicts(_: Settings, derived: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """Every verdict of this concern, in a fixed order."""
    return engine(derived, facts), daemon_json(derived, facts), network(derived, facts)


def engine(derived: Derived, facts: HostFacts) -> Verdict:
    """Is there an engine with compose that answers, now and after the next boot?"""
    return judge(
        Question("docker.engine", "a container engine with compose, started at boot"),
        (
            (Layer.CONFIGURED, lambda: _set_up(derived, facts)),
            (Layer.LIVE, lambda: _answers(facts)),
        ),
    )


def daemon_json(derived: Derived, facts: HostFacts) -> Verdict:
    """Does daemon.json hold our keys, and has dockerd taken them up?"""
    keys = ", ".join(changes.daemon_values(derived))
    return judge(
        Question("docker.daemon_json", f"{keys} in force"),
        (
            (Layer.CONFIGURED, lambda: _holds_keys(derived, facts)),
            (Layer.LIVE, lambda: _taken_up(derived, facts)),
        ),
    )


def network(derived: Derived, facts: HostFacts) -> Verdict:
    """Are the site's proxy and certificates known to the host, and to dockerd?"""
    docker = derived.settings.docker
    asked = [docker.docker_proxy] if docker.docker_proxy else []
    asked += ["the site's certificates"] if docker.docker_site_ca else []
    return judge(
        Question("docker.network", " and ".join(asked) or "no proxy and no certificates of ours"),
        (
            (Layer.CONFIGURED, lambda: _networked(derived, facts)),
            (Layer.LIVE, lambda: _proxied(derived, facts)),
        ),
    )


def has_data_in(root: str, facts: HostFacts) -> bool:
    """Whether the engine's data are under this root.

    dockerd follows the root's links, and for remapped users it adds a folder UID.GID (moby's
    setupDaemonRoot): `docker info` tells what came of it.
    """
    found = facts.docker.data_root
    if found is None:
        return False
    if facts.docker.userns:
        found = _REMAPPED.sub("", found)
    return found in (root, facts.docker.linked_roots.get(root, root))


def _set_up(derived: Derived, facts: HostFacts) -> Found:
    found = facts.docker
    if found.source in UNFIT or found.rootless:
        words, fix = UNFIT.get(found.source, ROOTLESS)
        said = f"docker info: rootless {found.rootless}; docker is from {found.source}"
        return Found(False, words, said, fix)
    for words, evidence in _lacks(derived, facts):
        return Found(False, words, evidence, DEPLOY)
    return Found(True, f"{changes.installed_source(facts)} {found.client}")


def _lacks(derived: Derived, facts: HostFacts) -> Iterator[tuple[str, str]]:
    """What a deploy would add, in words, and where it shows."""
    if missing := facts.docker.missing:
        yield f"{missing[0]} is not installed", f"there is no {' and no '.join(missing)}"
    for name in changes.packages(derived, facts):
        yield f"{name} is not installed", f"dpkg-query -W {name}"
    if facts.docker.compose is None:
        yield "docker has no compose", "docker compose version"
    if not facts.docker.enabled:
        yield "docker does not start at boot", f"systemctl is-enabled {UNIT}"
    for user in changes.joining(derived, facts):
        yield f"{user} is not in group {changes.GROUP}", f"getent group {changes.GROUP}"


def _answers(facts: HostFacts) -> Found:
    found = facts.docker
    if found.server is None:
        said = found.error or f"{UNIT} is not active"
        return Found(False, "dockerd does not answer", said, JOURNAL)
    source = changes.installed_source(facts)
    return Found(True, f"{source} {found.server}, compose {found.compose}")


def _holds_keys(derived: Derived, facts: HostFacts) -> Found:
    text, kind = facts.daemon_json.daemon_json, facts.daemon_json.in_its_place
    if kind:
        said = f"{changes.DAEMON_JSON} is a {kind}"
        return Found(False, "daemon.json is no file", said, f"remove {changes.DAEMON_JSON} by hand")
    if text is None:
        return Found(False, "no daemon.json", f"{changes.DAEMON_JSON} is not there", DEPLOY)
    found = daemon_file.parse(text)
    if found.error:
        place = f"{changes.DAEMON_JSON}:{found.error.line}:{found.error.column}"
        return Found(
            False,
            "daemon.json is no JSON",
            f"{place}: {found.error.message}",
            f"mend {changes.DAEMON_JSON} by hand",
        )
    for key, wanted, value in _keys(changes.daemon_values(derived), found.values):
        if value != wanted:
            said = f"{key} {json.dumps(value)}" if value is not None else f"no {key}"
            evidence = f"{changes.DAEMON_JSON} has {said}"
            return Found(False, f"{key} is not as asked", evidence, DEPLOY)
    return Found(True, "daemon.json has our keys")


def _keys(wanted: object, found: object, head: str = "") -> Iterator[tuple[str, object, object]]:
    """Every key of ours, those of log-opts too: its name, what it should be, what it is."""
    for key, value in wanted.items() if isinstance(wanted, dict) else ():
        has = found.get(key) if isinstance(found, dict) else None
        if isinstance(value, dict):
            yield from _keys(value, has, f"{head}{key}.")
        else:
            yield f"{head}{key}", value, has


def _taken_up(derived: Derived, facts: HostFacts) -> Found:
    found = _at_work(facts)
    if found.live_restore is not True:
        return Found(
            False,
            "live-restore is not in force",
            "docker info: LiveRestoreEnabled is false",
            f"systemctl reload {UNIT}",
        )
    root = derived.settings.docker.docker_data_root
    if root and not has_data_in(root, facts):
        said = f"docker info: DockerRootDir is {found.data_root}"
        fix = f"move {found.data_root} there by hand, then deploy"
        return Found(False, "docker's data are elsewhere", said, fix)
    if changes.DAEMON_JSON in facts.units.newer_than_docker:
        return _unread(changes.DAEMON_JSON)
    return Found(True, "in force")


def _networked(derived: Derived, facts: HostFacts) -> Found:
    for change in (*changes.network(derived, facts), *site_ca.leaving(derived, facts)):
        state = "is not there" if change.before is None else "is not as asked"
        return Found(False, f"{change.path} {state}", f"{change.path} {state}", DEPLOY)
    for reason in site_ca.untrusted(derived, facts):
        return Found(False, "the site's certificates are not trusted", reason, DEPLOY)
    return Found(True, "files as asked")


def _proxied(derived: Derived, facts: HostFacts) -> Found:
    """What else dockerd reads at its start, and the proxy that it says it uses."""
    asked = derived.settings.docker
    late = [path for path in facts.units.newer_than_docker if path != changes.DAEMON_JSON]
    if late:
        return _unread(late[0])
    if not asked.docker_proxy:
        return Found(True, "certificates known" if asked.docker_site_ca else "nothing asked")
    found = _at_work(facts)
    for name, proxy in (("HttpProxy", found.http_proxy), ("HttpsProxy", found.https_proxy)):
        if proxy != asked.docker_proxy:
            said = f"docker info: {name} is {proxy or 'not set'}"
            return Found(False, f"dockerd uses {proxy or 'no proxy'}", said, DEPLOY)
    return Found(True, asked.docker_proxy)


def _unread(path: str) -> Found:
    said = f"{path} is newer than dockerd"
    return Found(False, f"dockerd has not read {path}", said, DEPLOY)


def _at_work(facts: HostFacts) -> Docker:
    if facts.docker.server is None:
        raise Unreadable(f"docker does not answer: {facts.docker.error or 'docker.engine'}")
    return facts.docker
