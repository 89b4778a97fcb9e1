"""`apuhost facts`: saves what the probes read."""

import sys
from collections.abc import Sequence
from pathlib import Path

from apuhost import evidence, inventory
from apuhost.gather import Unreachable, gather
from apuhost.report import visible


def run(path: Path, limits: Sequence[str], output: Path) -> int:
    """Save every host's facts under `output`; 2 when a host was not reached."""
    hosts = inventory.load(path, limits)
    inventory.settings(path, hosts)
    status = 0
    facts = gather(hosts)
    for host in hosts:
        found = facts[host.name]
        if isinstance(found, Unreachable):
            print(visible(f"{host.name}  not reached: {found}"), file=sys.stderr)
            status = 2
        else:
            print(f"{host.name}  {evidence.save(output, host, found)}")
    return status
