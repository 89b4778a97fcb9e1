"""Ollama's log: what its last start found to compute on, and what was loaded since.

The server logs with slog; between its lines stand those of llama-server and older runners as
they are.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from apuhost.probes import ParseError
from apuhost.probes.compute_devices import ComputeDevice
from apuhost.probes.container_commands import CONTAINER, DOCKER_TIMEOUT_S
from apuhost.probes.log_lines import log_lines
from apuhost.probes.ollama_lines import is_ours
from apuhost.probes.ollama_start import (
    ANY,
    TROUBLES,
    Layers,
    Start,
    read_line,
    start_by_process,
    start_by_stage,
)
from apuhost.probes.runner_command import Runner

__all__ = ["COMMAND", "ComputeDevice", "Layers", "OllamaLog", "Runner", "parse", "read"]

_UNREAD = "apuhost: docker logs failed"
_REFUSED = "Error response from daemon: "
_MESSAGES = (
    *("server config", "total blobs", "Listening on", "discovering available GPUs"),
    *("looking for compatible GPUs", "dropping integrated GPU", "inference compute"),
    *("vram-based default context", "entering low vram mode", "failure during", "timed out"),
    *("starting llama", "starting runner", "msg=load", "offloaded", "prompt cache is enabled"),
    *("VRAM tracking", "using device", "MiB free", "ggml_vulkan: ", "ollama version is"),
    *("ErrorDeviceLost", "ErrorOutOf", "ailed to allocate", _REFUSED, _UNREAD),
)
_LINES = "\n".join(_MESSAGES)
# The container's log since its own start holds one start of the server. Its first lines tell
# what was found, its last ones what is loaded; none is read past its 2000th byte. Of the
# server's settings only that they were printed leaves the host: they hold the proxies' logins.
_FIRST, _LAST, _MOST_BYTES_OF_A_LINE = 200, 300, 2000
_LOGS_TIMEOUT_S = 20
TIMEOUT_S = DOCKER_TIMEOUT_S + _LOGS_TIMEOUT_S + 5
COMMAND = f"""
{CONTAINER}
id=$(ollama_container) || exit
[ -n "$id" ] || exit 0
started='{{{{.State.StartedAt}}}}'
since=$(timeout {DOCKER_TIMEOUT_S} docker inspect --format "$started" "$id") || exit
{{
  timeout {_LOGS_TIMEOUT_S} docker logs --since "$since" "$id" 2>&1 ||
    echo "{_UNREAD} (exit $?)"
}} | grep -aF '{_LINES}' | sed -E 's/(server config"? env=).*/\\1"map[]"/' |
  cut -b 1-{_MOST_BYTES_OF_A_LINE} | awk '
    NR <= {_FIRST} {{ print; next }}
    {{ kept[NR % {_LAST}] = $0 }}
    END {{ for (n = NR - {_LAST - 1}; n <= NR; n++) if (n > {_FIRST}) print kept[n % {_LAST}] }}'
"""


@dataclass(frozen=True)
class OllamaLog:
    """All but `server_starts` is of the last start; None where the log does not tell it.

    `devices`: what the server computes on; where its own lines are missing, what llama.cpp
    names, or else only a runner's library. `dropped`: integrated GPUs that it does not use.
    `runners`: each start of one, oldest first. `layers`: of the model that was loaded last.
    `cache_limit_mib`: host memory that a runner may fill with prompts. `vram_tracking_failed`:
    the sizes in /api/ps are guesses.
    """

    server_starts: int
    version: str | None
    devices: tuple[ComputeDevice, ...]
    dropped: tuple[ComputeDevice, ...]
    layers: Layers | None
    runners: tuple[Runner, ...]
    default_num_ctx: int | None
    discovery_timed_out: bool
    cache_limit_mib: int | None
    vram_tracking_failed: bool
    allocation_failed: bool
    device_lost: bool


def parse(text: str) -> OllamaLog:
    """Read a log, whole, cut, broken into lines, or behind the prefixes of journald and Compose.

    Raises:
        ParseError: no line is Ollama's or llama.cpp's, or docker did not give the log.
    """
    return read(text.split("\n"))


def read(lines: Iterable[str]) -> OllamaLog:
    """Read the lines of a log, in constant memory.

    Raises:
        ParseError: as `parse`.
    """
    start, ours, anything, refusal = Start(), False, False, ""
    for line in log_lines(lines):
        anything = anything or line.text.strip() != ""
        ours = ours or is_ours(line)
        if line.text.startswith(_REFUSED):
            refusal = line.text.removeprefix(_REFUSED).strip()
        if line.text.startswith(_UNREAD):
            raise ParseError(f"{line.text.removeprefix('apuhost: ').strip()} {refusal}".strip())
        start = start_by_process(line, start)
        if ANY.search(line.text):
            start = start_by_stage(line.text, start)
            read_line(start, line.text)
    if anything and not ours:
        raise ParseError(refusal or "no line of Ollama's in it")
    return _record(start)


def _record(start: Start) -> OllamaLog:
    told_by_server = start.devices or start.dropped
    devices = start.devices.values() if told_by_server else _told_by_others(start)
    return OllamaLog(
        server_starts=start.before + start.known,
        version=start.version,
        devices=tuple(devices),
        dropped=tuple(start.dropped.values()),
        layers=start.layers,
        runners=tuple(start.runners),
        default_num_ctx=start.default_num_ctx,
        cache_limit_mib=start.cache_limit_mib,
        **{name: name in start.troubles for name in TROUBLES},
    )


def _told_by_others(start: Start) -> Iterable[ComputeDevice]:
    return (start.llama_devices or start.libraries).values()
