"""pyinfra's inventory where the hosts stand in a CSV file or an Ansible inventory.

`apuhost` reads these, checks them, and hands them over on standard input: groups by name, each a
list of hosts, in `all` with their own data. group_data beside the file counts as it always does.
pyinfra makes a group of all hosts by the name of this file, where there is none; so there is one.
"""

import json
import sys

hosts: list[str] = []
globals().update(
    {
        group: [tuple(host) if isinstance(host, list) else host for host in listed]
        for group, listed in json.load(sys.stdin).items()
    }
)
