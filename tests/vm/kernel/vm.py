"""The rehearsal's machine with the kernel role alone: what these tests are about, and soon done."""

import runpy

from apuhost.roles import CHECKOUT

_whole = runpy.run_path(str(CHECKOUT / "inventories" / "rehearsal" / "vm.py"))["hosts"]

hosts = [(name, {**data, "host_roles": ["kernel"]}) for name, data in _whole]
