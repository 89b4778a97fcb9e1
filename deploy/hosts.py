"""pyinfra's inventory where the hosts stand in a CSV file or an Ansible inventory.

`apuhost` reads these, checks them, and hands them over on standard input: groups by name, each a
list of hosts, in `all` with their own data. group_data beside the file counts as it always does.
"""

import json
import sys

globals().update(
    {
        group: [tuple(host) if isinstance(host, list) else host for host in hosts]
        for group, hosts in json.load(sys.stdin).items()
    }
)
