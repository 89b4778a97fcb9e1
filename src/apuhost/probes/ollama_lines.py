"""Which lines only Ollama writes, or llama.cpp inside of it.

A text that merely names them (a page about Ollama, the kernel's log of its processes) has none.
"""

import re

from apuhost.probes.log_lines import LogLine

# Files of Ollama's server and older runners that log. Other Go programs write the same forms
# (Prometheus: `level=INFO source=main.go:590`): names that many of them have are not here.
_SOURCES = (
    r"(?:amd_\w+|bytepairencoding|causal|cloud_proxy|cuda_common|device|download|dyn_ext_server"
    r"|ext_server_common|ggml|gguf|gpu\w{0,20}|images|llama|llama_server|llm|modelpath"
    r"|native_probe\w{0,20}|payload\w{0,20}|quantization|routes|runner|sched|server|status_memory"
    r"|types|upload|vocabulary)\.go:[0-9]+"
)
_SERVERS = rf"\bsource={_SOURCES}|[0-9]:[0-9]{{2}}(?:\.[0-9]+)? {_SOURCES}: |\[GIN(?:-debug)?\] "
# llama.cpp's own time and level may stand before its message, and a supervisor's brackets.
_START = r"^\s*(?:\[[^\]]{1,40}\]\s{1,3}){0,3}(?:[0-9][0-9.:]{4,39} )?(?:[A-Z] )?"
_RUNNERS = (
    rf"{_START}(?:slot\s+\S{{1,40}}:\s+id\s|srv\s+\S{{1,40}}: |(?:llama|ggml|llm_load)_\w{{1,80}}: "
    r"|(?:load_(?:tensors|backend)|print_info|system_info): |radv/\w+: )"
    r"|\bvk::[\w:]{1,80}: Error\w|'vk::\w+Error'"
)
_CLIENTS = (
    r"^(?:Warning: |Error: )?(?:could not connect to (?:a running )?[Oo]llama"
    r"|(?:client|ollama) version is )"
)
_OURS = re.compile(f"{_SERVERS}|{_RUNNERS}|{_CLIENTS}")


def is_ours(line: LogLine) -> bool:
    """Whether a line is Ollama's or llama.cpp's, by its form or by journald's word."""
    return (line.process or "").startswith("ollama") or _OURS.search(line.text) is not None
