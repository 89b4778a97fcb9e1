"""Which lines only Ollama writes, or llama.cpp inside of it.

A text that merely names them (a page about Ollama, the kernel's log of its processes) has none.
"""

import re

from apuhost.probes.log_lines import LogLine

_SERVERS = (
    r"\blevel=(?:TRACE|DEBUG|INFO|WARN|ERROR)\s+(?:source|msg)=|\bsource=\S{0,200}\.go:[0-9]"
    r"|[0-9]:[0-9]{2}(?:\.[0-9]+)? \w+\.go:[0-9]+: |\[GIN(?:-debug)?\] "
)
_RUNNERS = (
    r"\bslot\s+\S{1,40}:\s+id\s|\bsrv\s+\S{1,40}: |(?<![A-Za-z`'\"])(?:llama|ggml)\w{0,80}: "
    r"|\b(?:load_(?:tensors|backend)|print_info|system_info): "
    r"|\bvk::\w|radv/\w+: |using device \w+ \("
)
_CLIENTS = (
    r"^(?:Warning: |Error: )?(?:could not connect to (?:a running )?[Oo]llama"
    r"|(?:client|ollama) version is )"
)
_OURS = re.compile(f"{_SERVERS}|{_RUNNERS}|{_CLIENTS}")


def is_ours(line: LogLine) -> bool:
    """Whether a line is Ollama's or llama.cpp's, by its form or by journald's word."""
    return (line.process or "").startswith("ollama") or _OURS.search(line.text) is not None
