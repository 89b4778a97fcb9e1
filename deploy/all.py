"""What pyinfra executes, once per host: `pyinfra inventories/minipc.py deploy/all.py`."""

from pyinfra import host

from apuhost.steps.order import ORDER
from deploy.facts import takes
from deploy.operations import take

# By its place in a loop of pyinfra's, not by a line, an operation is the same one on every host.
for part in host.loop(ORDER):  # type: ignore[no-untyped-call]
    if takes(part):
        take(part)
