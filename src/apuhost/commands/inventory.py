"""`apuhost inventory`: the hosts of an inventory as another tool takes them."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from apuhost import inventory
from apuhost.errors import ApuhostError
from apuhost.report import ansible


def run(path: Path, limits: Sequence[str], host: str | None) -> int:
    """Print Ansible's JSON: of all hosts, or the variables of one.

    Raises:
        ApuhostError: an inventory or settings that cannot be right, or no host of that name.
    """
    hosts = inventory.load(path, limits)
    found = ansible.ansible(hosts, inventory.settings(path, hosts))
    variables = found["_meta"]["hostvars"]
    if host is not None and host not in variables:
        raise ApuhostError(f"{path}: no host {host}; there are: {', '.join(variables)}")
    for sentence in ansible.kept_back(hosts):
        print(sentence, file=sys.stderr)
    print(json.dumps(found if host is None else variables[host], indent=1))
    return 0
