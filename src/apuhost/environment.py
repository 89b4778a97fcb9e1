"""Variables that Ollama's server reads, with their types.

Ollama ignores a name it does not know and takes any text but 0, f, false for true (`off` too), so
both are judged here. Source: envconfig/config.go of Ollama 0.33.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

MOST = 2**63 - 1
BOOL = "True or False"
NUMBER = "a whole number"
TEXT = "a text"

VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        "OLLAMA_AUTH": BOOL,
        "OLLAMA_CONTEXT_LENGTH": NUMBER,
        "OLLAMA_DEBUG": NUMBER,
        "OLLAMA_DEBUG_LOG_REQUESTS": BOOL,
        "OLLAMA_FLASH_ATTENTION": BOOL,
        "OLLAMA_GO_TEMPLATE": BOOL,
        "OLLAMA_GPU_OVERHEAD": NUMBER,
        "OLLAMA_HOST": TEXT,
        "OLLAMA_IGPU_ENABLE": BOOL,
        "OLLAMA_KEEP_ALIVE": TEXT,
        "OLLAMA_KV_CACHE_TYPE": TEXT,
        "OLLAMA_LLM_LIBRARY": TEXT,
        "OLLAMA_LOAD_TIMEOUT": TEXT,
        "OLLAMA_MAX_LOADED_MODELS": NUMBER,
        "OLLAMA_MAX_QUEUE": NUMBER,
        "OLLAMA_MAX_TRANSFER_STREAMS": NUMBER,
        "OLLAMA_MODELS": TEXT,
        "OLLAMA_NO_CLOUD": BOOL,
        "OLLAMA_NOHISTORY": BOOL,
        "OLLAMA_NOPRUNE": BOOL,
        "OLLAMA_NUM_PARALLEL": NUMBER,
        "OLLAMA_ORIGINS": TEXT,
        "OLLAMA_REMOTES": TEXT,
        "OLLAMA_SCHED_SPREAD": BOOL,
        "OLLAMA_VULKAN": BOOL,
    }
)

# What the server hands on to llama.cpp, Mesa and ROCm; their names are not ours to list.
_PASSED_ON = re.compile(r"(LLAMA_ARG|GGML|GPU|HIP|HSA|ROCR|RADV|AMD|VK|MESA)_[A-Z0-9_]+")


_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASS|PASSWD|PASSWORD|CREDENTIALS)$", re.IGNORECASE)


def passed_on(name: str) -> bool:
    """Whether it is a variable for what Ollama starts, which it does not read itself."""
    return bool(_PASSED_ON.fullmatch(name))


def chosen(name: str) -> bool:
    """Whether somebody chose it for Ollama or llama.cpp; the image sets OLLAMA_HOST itself."""
    return name.startswith(("OLLAMA_", "LLAMA_ARG_", "GGML_")) and name != "OLLAMA_HOST"


def secret(name: str) -> bool:
    """Whether a variable of this name holds a secret, by its last word."""
    return bool(_SECRET.search(name))


def fits(name: str, value: object) -> bool:
    """Whether a value is of the variable's type: True and False for a bool, not "off"."""
    kind = VARIABLES.get(name, TEXT)
    if kind == BOOL or isinstance(value, bool):
        return kind == BOOL and isinstance(value, bool)
    if isinstance(value, int):
        return (0 if kind == NUMBER else -MOST) <= value <= MOST
    return kind == TEXT and isinstance(value, str)


def written(value: object) -> str:
    """A value as the server reads it: 1 and 0 for a bool."""
    return str(int(value)) if isinstance(value, bool) else str(value)
