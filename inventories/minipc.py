"""The reference host, whole: copy this file, name your box, change what differs.

GMKtec K8 Plus: Ryzen 7 8845HS, Radeon 780M, 64 GiB. docs/settings.md lists every setting.
"""

hosts = [
    (
        "minipc",
        {
            "ssh_hostname": "192.0.2.10",
            "ssh_user": "admin",
            # GiB that the GPU may map; 48 is also what auto makes of 64 GiB.
            "kernel_gtt_gib": 48,
            # Faster prefill; hides the NPU and switches DMA protection off. Or "pt", "default".
            "kernel_amd_iommu": "off",
            # ms until a hung GPU ring is reset; long prompts need more than kernel 7's 2000.
            "kernel_lockup_timeout_ms": 10000,
        },
    ),
]
