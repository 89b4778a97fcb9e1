"""The rehearsal's settings: the reference host's, on a VM that is smaller than it."""

_sudo = True
ssh_strict_host_key_checking = "yes"

# QEMU accepts a connection before the guest's sshd does: give such a one up soon.
ssh_paramiko_connect_kwargs = {"banner_timeout": 3, "auth_timeout": 10, "timeout": 5}

# What the VM stands in for; honoured on virtual machines only.
host_simulated = {"memory_gib": 61, "gpu": "1002:1900"}

kernel_gtt_gib = 48
kernel_amd_iommu = "off"
kernel_lockup_timeout_ms = 10000

vulkan_users = ["operator"]
docker_users = ["operator"]
