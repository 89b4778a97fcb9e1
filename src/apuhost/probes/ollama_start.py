"""What one start of Ollama's server writes to its log, line by line.

Message texts are exact for all releases that have them; the source lines change with each one.
Discovery runs once for each start, so an earlier start's lines say nothing of the next.
"""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from apuhost.probes.compute_devices import (
    LLAMA_LINE,
    ComputeDevice,
    add_llama_device,
    libraries_of_runner,
    server_device,
)
from apuhost.probes.log_lines import LogLine, phrase
from apuhost.probes.pairs import whole_number
from apuhost.probes.runner_command import Runner, loaded_with, runner_of
from apuhost.probes.runners import command_in
from apuhost.probes.slog import attributes

_MOST_RUNNERS = 64
_MOST_DEVICES = 64
_BY_REQUEST = 2  # the generation whose command line only names the model


@dataclass(frozen=True)
class Layers:
    """How many of the model's layers the GPU got."""

    offloaded: int
    total: int


@dataclass
class Start:
    """What was read of one start so far, and how many were known to be `before` it.

    `stage` is the place of its last line in the order; it is `known` to be a start by a line
    that only a start prints, or by journald's number of its process.
    """

    process: str | None = None
    before: int = 0
    known: bool = False
    stage: int = -1
    version: str | None = None
    devices: dict[tuple[str | None, ...], ComputeDevice] = field(default_factory=dict)
    dropped: dict[tuple[str | None, ...], ComputeDevice] = field(default_factory=dict)
    llama_devices: dict[str, ComputeDevice] = field(default_factory=dict)
    libraries: dict[str, ComputeDevice] = field(default_factory=dict)
    layers: Layers | None = None
    runners: deque[Runner] = field(default_factory=lambda: deque(maxlen=_MOST_RUNNERS))
    default_num_ctx: int | None = None
    cache_limit_mib: int | None = None
    troubles: set[str] = field(default_factory=set)


# What a start prints, in its order; a line that stands before the last one seen is of a new one.
_STAGES = tuple(
    phrase(text)
    for text in (
        'server config"? env=',
        "total blobs: [0-9]",
        r"Listening on \S+ \(version ",
        "discovering available GPUs|looking for compatible GPUs",
        "dropping integrated GPU;",
        'inference compute"? id=',
        'vram-based default context"? total|entering low vram mode',
    )
)
_DROPPING, _COMPUTE, _RUNNING = 4, 5, len(_STAGES)
TROUBLES = {
    "discovery_timed_out": phrase(
        "GPU discovery watchdog timed out|discovery: timed out waiting for server startup"
        "|failure during (?:llama-server )?GPU discovery.*(?:time ?out|timed out|deadline exceeded)"
    ),
    "vram_tracking_failed": phrase("VRAM tracking: no per-device buffer sizes"),
    "allocation_failed": phrase(
        r"[Ff]ailed to allocate (?:a buffer|\S+ buffer)|ErrorOutOf(?:Device|Host)Memory"
    ),
    "device_lost": phrase("ErrorDeviceLost"),
}
_VERSION = phrase(r"(?:Listening on \S+ \(version |ollama version is )([^\s)]{1,60})")
_DEFAULT_CONTEXT = phrase('vram-based default context"? total')
_STARTING = phrase('starting (?:llama server|llama-server|runner)"? cmd=')
_LOAD = re.compile(r'msg=load\s+request="\{Operation:(?:alloc|commit) ')  # a fit is only tried
_OFFLOADED = phrase("offloaded ([0-9]{1,6})/([0-9]{1,6}) layers to GPU")
_CACHE = phrase("prompt cache is enabled, size limit: ([0-9]{1,9}) MiB")
_SERVERS = re.compile(r"time=\S+ level=|[a-z]\.go:[0-9]+")
ANY = re.compile(
    r"server\s*config|blobs:|Listening|GPU|inference|vram|starting|msg=load\b|offloaded|cache\s*is"
    r"|VRAM|using\s*device|free\)|free$|ggml_vulkan: |version\s*is|ErrorOut|ErrorDevice|ailed\s*to"
    r"|discovery:|runner\.inference"
)
"""A word of every line that tells something: what tells nothing is most of a log."""


def start_by_process(line: LogLine, start: Start) -> Start:
    """The start that a line of journald's belongs to: a server of another number is a new one.

    A runner, and a client in a unit of its own, also have numbers, but do not write as servers.
    """
    if line.process is None or not line.process.startswith("ollama"):
        return start
    if not _SERVERS.search(line.text):
        return start
    if start.process not in (None, line.process):
        start = replace(_next(start), known=True)
    start.process = line.process
    return start


def start_by_stage(text: str, start: Start) -> Start:
    """The start that a line belongs to: its place in the order tells whether it is a new one."""
    for stage, pattern in enumerate(_STAGES):
        if pattern.search(text):
            again = stage == start.stage and stage not in (_DROPPING, _COMPUTE)
            if stage < start.stage or again or _is_known(start, text):
                start = _next(start)
            start.stage, start.known = stage, True
    return start


def _next(start: Start) -> Start:
    return Start(process=start.process, before=start.before + start.known)


def _is_known(start: Start, text: str) -> bool:
    return _identity(text) in start.devices.keys() | start.dropped.keys()


def _identity(text: str) -> tuple[str | None, ...]:
    values = attributes(text)
    return tuple(values.get(key) for key in ("id", "library", "name", "pci_id"))


def read_line(start: Start, text: str) -> None:
    """Put what a line tells to what is known of the start that it belongs to."""
    for pattern, reader in _READERS:
        if found := pattern.search(text):
            reader(start, found, text)
    start.troubles.update(name for name, pattern in TROUBLES.items() if pattern.search(text))


def _read_version(start: Start, found: re.Match[str], _: str) -> None:
    start.version = found[1]


def _read_device(start: Start, _: re.Match[str], text: str) -> None:
    if (device := server_device(text)) and len(start.devices) < _MOST_DEVICES:
        start.devices[_identity(text)] = device


def _read_dropped(start: Start, _: re.Match[str], text: str) -> None:
    if (device := server_device(text)) and len(start.dropped) < _MOST_DEVICES:
        start.dropped[_identity(text)] = device


def _read_default_context(start: Start, _: re.Match[str], text: str) -> None:
    start.default_num_ctx = whole_number(attributes(text).get("default_num_ctx"))


def _read_runner(start: Start, _: re.Match[str], text: str) -> None:
    """A runner that starts has loaded nothing yet."""
    if runner := runner_of(command_in(text) or ()):
        start.runners.append(runner)
        start.layers = None
        start.stage = _RUNNING


def _read_load(start: Start, _: re.Match[str], text: str) -> None:
    """The second generation gets its options over HTTP: they belong to the last one started."""
    if start.runners and start.runners[-1].generation == _BY_REQUEST:
        request = attributes(text).get("request", "")
        start.runners.append(loaded_with(start.runners.pop(), request))


def _read_layers(start: Start, found: re.Match[str], _: str) -> None:
    """A draft model comes after the model and has fewer layers; a probe for a fit comes before."""
    layers = Layers(int(found[1]), int(found[2]))
    if start.layers is None or layers.total >= start.layers.total:
        start.layers = layers
    start.stage = _RUNNING


def _read_cache_limit(start: Start, found: re.Match[str], _: str) -> None:
    start.cache_limit_mib = int(found[1])


def _read_llama_device(start: Start, _: re.Match[str], text: str) -> None:
    if len(start.llama_devices) < _MOST_DEVICES:
        add_llama_device(start.llama_devices, text)


def _read_libraries(start: Start, _: re.Match[str], text: str) -> None:
    for library in libraries_of_runner(text):
        if len(start.libraries) < _MOST_DEVICES:
            start.libraries[library] = ComputeDevice(library, None, None, None, None, None, None)


_READERS: tuple[tuple[re.Pattern[str], Callable[[Start, re.Match[str], str], None]], ...] = (
    (_VERSION, _read_version),
    (_STAGES[_COMPUTE], _read_device),
    (_STAGES[_DROPPING], _read_dropped),
    (_DEFAULT_CONTEXT, _read_default_context),
    (_STARTING, _read_runner),
    (_LOAD, _read_load),
    (_OFFLOADED, _read_layers),
    (_CACHE, _read_cache_limit),
    (LLAMA_LINE, _read_llama_device),
    (re.compile("runner\\.inference="), _read_libraries),
)
