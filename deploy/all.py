"""What pyinfra executes, once per host: `pyinfra inventories/minipc.py deploy/all.py`."""

from deploy.kernel import kernel
from deploy.operations import admit
from deploy.reboot import reboot

admit(name="admit")
kernel()
reboot(name="reboot")
