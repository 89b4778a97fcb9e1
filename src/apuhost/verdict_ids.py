"""The id of every verdict, by concern and in the order of a report: what a waiver may name."""

KERNEL = (
    "kernel.gtt",
    "kernel.iommu",
    "kernel.lockup_timeout",
    "kernel.arguments",
    "kernel.drop_in",
    "kernel.modules",
    "kernel.current",
)

GPU = ("gpu.device", "gpu.driver", "gpu.health", "gpu.known_bad")

FIRMWARE = ("firmware.uma", "firmware.svm", "firmware.memory")

VULKAN = (
    "vulkan.packages",
    "vulkan.firmware",
    "vulkan.groups",
    "vulkan.nodes",
    "vulkan.device",
)

DOCKER = ("docker.engine", "docker.daemon_json", "docker.network")

OLLAMA = (
    "ollama.image",
    "ollama.container",
    "ollama.environment",
    "ollama.exposure",
    "ollama.api",
    "ollama.gpu",
    "ollama.runner",
    "ollama.offload",
    "ollama.prompt_cache",
)

OLLAMA_ACTIVE = ("ollama.prefix_cache",)
"""Asked only where the hosts were let work (--active), as MODELS_ACTIVE."""

MODELS = (
    "models.pinned",
    "models.requires",
    "models.parameters",
    "models.blob",
    "models.loaded",
    "models.preload",
)

MODELS_ACTIVE = ("models.generation",)
"""Asked only where the hosts were let work (--active)."""

MIRROR = (
    "mirror.serving",
    "mirror.registry",
    "mirror.fallback",
    "mirror.apt",
    "mirror.models",
    "mirror.clock",
    "mirror.serial",
)

BOOT = ("boot.unit", "boot.reports", "boot.unchanged")

ALL = (
    *MIRROR,
    *(*KERNEL, *GPU, *FIRMWARE, *VULKAN, *DOCKER),
    *(*OLLAMA, *OLLAMA_ACTIVE, *MODELS, *MODELS_ACTIVE, *BOOT),
)
