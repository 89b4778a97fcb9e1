"""The `server config` line's map: every variable's value in force, as Go prints it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from . import durations, environment
from .environment import Environ

_AS_WRITTEN = (
    "OLLAMA_KV_CACHE_TYPE", "OLLAMA_IGPU_ENABLE", "LLAMA_ARG_FIT", "LLAMA_ARG_FIT_TARGET",
    "OLLAMA_LLM_LIBRARY", "OLLAMA_EDITOR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "no_proxy", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
    "HSA_OVERRIDE_GFX_VERSION",
)  # fmt: skip
# Bools with what they print when unset; OLLAMA_FLASH_ATTENTION prints false though it means auto.
_BOOLS = {
    "OLLAMA_DEBUG_LOG_REQUESTS": False, "OLLAMA_GO_TEMPLATE": True,
    "OLLAMA_FLASH_ATTENTION": False, "OLLAMA_NOHISTORY": False, "OLLAMA_NOPRUNE": False,
    "OLLAMA_SCHED_SPREAD": False, "OLLAMA_VULKAN": True,
}  # fmt: skip
_LOCAL = ("localhost", "127.0.0.1", "0.0.0.0")  # noqa: S104  (origins of browsers, not addresses)
_OTHER_ORIGINS = ("app://*", "file://*", "tauri://*", "vscode-webview://*", "vscode-file://*")


def text(environ: Environ) -> str:
    """`map[K1:v1 K2:v2 …]`, keys sorted, lists as `[a b]`."""
    pairs = values(environ)
    return f"map[{' '.join(f'{key}:{pairs[key]}' for key in sorted(pairs))}]"


def values(environ: Environ) -> dict[str, str]:
    """Each variable of Ollama's own table with the value that is in force."""
    pairs = {name: environment.variable(environ, name) for name in _AS_WRITTEN}
    for name, default in _BOOLS.items():
        chosen = environment.boolean(environ, name)
        pairs[name] = _bool(default if chosen is None else chosen)
    for name in environment.NUMBERS:
        pairs[name] = str(environment.number(environ, name))
    return pairs | {
        "OLLAMA_DEBUG": _level(environment.debug_level(environ)),
        "OLLAMA_HOST": str(environment.host(environ)),
        "OLLAMA_KEEP_ALIVE": durations.text(environment.keep_alive(environ)),
        "OLLAMA_LOAD_TIMEOUT": durations.text(environment.load_timeout(environ)),
        "OLLAMA_MODELS": str(environment.models(environ)),
        "OLLAMA_NO_CLOUD": _bool(cloud_source(environ) != "none"),
        "OLLAMA_ORIGINS": _list(_origins(environ)),
        "OLLAMA_REMOTES": _list(_remotes(environ)),
    }


def cloud_source(environ: Environ) -> str:
    """Who switched cloud models off: `none`, `env`, `config` or `both`."""
    by_environment = environment.boolean(environ, "OLLAMA_NO_CLOUD") or False
    by_config = bool(_server_json(environ).get("disable_ollama_cloud"))
    return {
        (False, False): "none", (True, False): "env", (False, True): "config", (True, True): "both",
    }[by_environment, by_config]  # fmt: skip


def _server_json(environ: Environ) -> Mapping[str, object]:
    try:
        parsed = json.loads((environment.home(environ) / ".ollama" / "server.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _origins(environ: Environ) -> list[str]:
    chosen = environment.variable(environ, "OLLAMA_ORIGINS")
    local = [f"{scheme}://{host}{port}" for host in _LOCAL for port in ("", ":*")
             for scheme in ("http", "https")]  # fmt: skip
    return [*(chosen.split(",") if chosen else ()), *local, *_OTHER_ORIGINS]


def _remotes(environ: Environ) -> list[str]:
    chosen = environment.variable(environ, "OLLAMA_REMOTES")
    return chosen.split(",") if chosen else ["ollama.com"]


def _level(level: int) -> str:
    """Go names the levels below DEBUG by their distance: TRACE shows as DEBUG-4."""
    return ("INFO", "DEBUG")[level] if level <= 1 else f"DEBUG-{4 * (level - 1)}"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _list(items: list[str]) -> str:
    return f"[{' '.join(items)}]"
