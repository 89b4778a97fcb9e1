"""The reference host, whole: copy this file, name your box, change what differs.

GMKtec K8 Plus: Ryzen 7 8845HS, Radeon 780M, 64 GiB. docs/settings.md lists every setting.
"""

hosts = [
    (
        "minipc",
        {
            "ssh_hostname": "192.0.2.10",
            "ssh_user": "admin",
            # As set by hand in the BIOS setup (the memory by its EXPO profile; IOMMU off, too).
            "host_firmware": {"uma_mib": 1024, "svm": False, "memory_mts": 5600},
            # GiB that the GPU may map; 48 is also what auto makes of 64 GiB.
            "kernel_gtt_gib": 48,
            # Faster prefill; hides the NPU and switches DMA protection off. Or "pt", "default".
            "kernel_amd_iommu": "off",
            # ms until a hung GPU ring is reset; long prompts need more than kernel 7's 2000.
            "kernel_lockup_timeout_ms": 10000,
            # May use the GPU outside of containers, as vulkaninfo does.
            "vulkan_users": ["admin"],
            # Where the API answers, for whoever reaches it: it has no login. An ssh tunnel leads
            # to this one; "192.0.2.10:11434" with ollama_allow_from opens it to a network.
            "ollama_listen": "127.0.0.1:11434",
            "ollama_context_length": 262144,
            "models_list": [
                {
                    "name": "qwen3.6:35b-a3b",
                    # 21 GB. The plan prints its digest once it is here: paste it as "digest".
                    # Ollama's own batch of 2048 would take 13 s at a full context: the watchdog.
                    "parameters": {"num_batch": 512, "draft_num_predict": 2},
                    "preload": True,
                    # 2.4 GB of KV cache at 119,000 tokens, as measured on this host.
                    "kv_bytes_per_token": 20200,
                },
            ],
        },
    ),
]
