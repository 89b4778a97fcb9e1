"""`apuhost inventory`: the hosts of an inventory as another tool takes them."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from apuhost import evidence, inventory
from apuhost.derived import Derived, derive
from apuhost.errors import ApuhostError
from apuhost.inventory import Host
from apuhost.inventory.handover import by_name
from apuhost.report import ansible
from apuhost.settings import Settings


def run(path: Path, limits: Sequence[str], host: str | None, saved: Path | None) -> int:
    """Print Ansible's JSON: of all hosts, or the variables of one; Derived by facts saved before.

    Raises:
        ApuhostError: an inventory or settings that cannot be right, or no host of that name.
    """
    hosts = inventory.load(path, limits)
    settings = inventory.settings(path, hosts)
    derived = _derived(settings, saved) if saved else {}
    named = _as_named(hosts, by_name(path))
    found = ansible.ansible(named, settings, derived)
    variables = found["_meta"]["hostvars"]
    if host is not None and host not in variables:
        raise ApuhostError(f"{path}: no host {host}; there are: {', '.join(variables)}")
    for sentence in (*ansible.kept_back(hosts), *ansible.left_out(named)):
        print(sentence, file=sys.stderr)
    print(json.dumps(found if host is None else variables[host], indent=1))
    return 0


def _as_named(hosts: Sequence[Host], passed_over: str) -> list[Host]:
    """The hosts without that group: Ansible has none by a file's name."""
    return [
        replace(host, groups=tuple(group for group in host.groups if group != passed_over))
        for host in hosts
    ]


def _derived(settings: Mapping[str, Settings], saved: Path) -> dict[str, Derived]:
    """What the settings come to on each host, as it was when its facts were saved."""
    found = evidence.load(saved, ())
    if lacking := [name for name in settings if name not in found.hosts]:
        why = "; ".join(found.closed[name] for name in lacking if name in found.closed)
        said = why or f"apuhost facts INVENTORY -o {saved} saves them"
        raise ApuhostError(f"{saved}: no facts of {', '.join(lacking)}: {said}")
    return {name: derive(settings[name], found.hosts[name][1]) for name in settings}
