"""The inventory in the form in which Ansible takes it from a program (a dynamic inventory)."""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from apuhost.connection import is_local
from apuhost.derived import Derived
from apuhost.derived import as_data as derived_data
from apuhost.inventory import NO_FILE, Host
from apuhost.settings import Settings, as_data

GROUP = "apuhost"
"""The group of all hosts, which playbooks/site.yml is for."""

DERIVED = "apuhost_derived"
"""The variable of what the settings come to on the host."""

LOCAL = "localhost"
"""What this very machine is called: to Ansible's --limit an @ begins a file's name."""

_ASKED_FOR = {
    "_sudo_password": "--ask-become-pass (-K) asks for it",
    "ssh_key_password": "have the key in an agent (ssh-add)",
}
_TEMPLATE = re.compile(r"\{[{%#]")


def ansible(
    hosts: Iterable[Host],
    settings: Mapping[str, Settings],
    derived: Mapping[str, Derived],
) -> dict[str, Any]:
    """All hosts with the way to them and every setting; the groups of the inventory file.

    Args:
        hosts: which.
        settings: of each, by its name.
        derived: what they come to, for those whose facts are at hand.
    """
    known = {_name(host): host for host in hosts}
    variables = {
        name: {
            **_connection(host),
            **_plain(as_data(settings[host.name])),
            **_derived(derived.get(host.name)),
        }
        for name, host in known.items()
    }
    taken = _taken(known)
    named = {group: members for group, members in _groups(known).items() if group not in taken}
    groups = {group: {"hosts": members} for group, members in ({GROUP: [*known]} | named).items()}
    return {"_meta": {"hostvars": variables}, **groups}


def left_out(hosts: Iterable[Host]) -> Iterator[str]:
    """Groups that are not printed, since Ansible takes their name for other hosts."""
    known = {_name(host): host for host in hosts}
    taken = _taken(known)
    for group, members in _groups(known).items():
        if group in taken and taken[group] != members:
            meant = "a host" if group in known else "something else"
            yield f"the group {group} is left out: Ansible calls {meant} so; rename it"


def kept_back(hosts: Iterable[Host]) -> Iterator[str]:
    """Secrets that are not printed, each with what to do instead."""
    for host in hosts:
        for key, instead in _ASKED_FOR.items():
            if host.data.get(key):
                yield f"{host.name}: {key} is not printed: {instead}"


def _name(host: Host) -> str:
    return LOCAL if is_local(host) else host.name.removeprefix("@ssh/")


def _derived(found: Derived | None) -> dict[str, Any]:
    return {} if found is None else {DERIVED: _plain(derived_data(found))}


def _groups(known: Mapping[str, Host]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, host in known.items():
        for group in host.groups:
            found.setdefault(group, []).append(name)
    return found


def _taken(known: Mapping[str, Host]) -> dict[str, list[str]]:
    """Names that mean something without a group of theirs, with the hosts that each means.

    Any other may be a group's: Ansible warns of dashes and the like, and takes them.
    """
    every = [*known]
    own: dict[str, list[str]] = {"all": every, GROUP: every, "ungrouped": [], "_meta": []}
    return own | {name: [name] for name in known}


def _connection(host: Host) -> dict[str, Any]:
    become = {"ansible_become": bool(host.data.get("_sudo"))}
    if is_local(host):
        return {"ansible_connection": "local", **become}
    way = {
        "ansible_host": host.data.get("ssh_hostname") or _name(host),
        "ansible_port": host.data.get("ssh_port"),
        "ansible_user": host.data.get("ssh_user"),
        "ansible_ssh_private_key_file": _file(host, "ssh_key"),
        "ansible_ssh_common_args": shlex.join(_options(host)),
    }
    return {key: _plain(value) for key, value in way.items() if value} | become


def _file(host: Host, key: str) -> str:
    named = host.data.get(key)
    if not named or named == NO_FILE:
        return named or ""
    return str(Path(os.path.expanduser(str(named))).absolute())  # noqa: PTH111  (~nobody stays)


def _options(host: Host) -> Iterator[str]:
    """As apuhost's own ssh: a host key that is not known, or has changed, ends the connection."""
    if config := _file(host, "ssh_config_file"):
        yield from ("-F", config)
    yield from ("-o", "StrictHostKeyChecking=yes")
    if known := _file(host, "ssh_known_hosts_file"):
        yield from ("-o", f'UserKnownHostsFile="{known}"')
    if host.data.get("ssh_key"):
        yield from ("-o", "IdentitiesOnly=yes")


def _plain(value: Any) -> Any:  # noqa: ANN401
    """The value as it is: Ansible fills in nothing where it looks like a template."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, str) and _TEMPLATE.search(value):
        return {"__ansible_unsafe": value}
    return value
