"""What pyinfra executes, once per host: `pyinfra inventories/minipc.py deploy/all.py`.

Packages and firmware come before the one reboot, since only a boot loads firmware; Ollama after it,
since it looks for GPUs once, when it starts.
"""

from deploy.boot import boot
from deploy.docker import docker, network, retire_certificates
from deploy.facts import wants
from deploy.kernel import kernel
from deploy.mirror import mirror, remember
from deploy.models import models
from deploy.ollama import ollama
from deploy.operations import admit, admit_containers
from deploy.reboot import reboot
from deploy.vulkan import vulkan

admit(name="admit")
if wants("mirror"):
    mirror()
if wants("kernel"):
    kernel()
if wants("docker"):
    network()
if wants("vulkan"):
    vulkan()
if wants("docker"):
    docker()
reboot(name="reboot")
admit_containers(name="admit, with Docker")
if wants("ollama"):
    ollama()
if wants("docker"):
    retire_certificates()
if wants("models"):
    models()
if wants("boot"):
    boot()
if wants("mirror"):
    remember()
