"""Finding the GPUs, once per server: llama-server is started and asked, the log tells.

facts/ollama.md sections 2.2 and 2.3.
"""

from __future__ import annotations

import random
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from . import devices, environment, gpu
from .devices import Device
from .environment import Environ
from .gpu import Machine
from .slog import Log

_SECONDS = 30
_OVERRIDES = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
    "GGML_VK_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "HSA_OVERRIDE_GFX_VERSION",
)  # fmt: skip


def discover(machine: Machine, environ: Environ, log: Log) -> list[Device]:
    """The GPUs that models will run on; tells in the log what was found and what was dropped."""
    log.info("discovering available GPUs...", at="runner.go")
    _warn_of_overrides(environ, log)
    found = [
        device
        for folder in gpu.libraries(machine, environ)
        for device in _ask(machine, environ, folder, log)
    ]
    kept, dropped = devices.admit(found, environment.boolean(environ, "OLLAMA_IGPU_ENABLE"))
    for device in dropped:
        log.info(
            "dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1",
            at="runner.go",
            **device.dropped(),
        )
    visible = environment.variable(environ, "GGML_VK_VISIBLE_DEVICES")
    used = devices.renumber(kept, visible)
    _tell(machine, used, log)
    return used


def memory(machine: Machine) -> tuple[int, int, int]:
    """Total and free memory, and free swap, as this container sees them."""
    names = ("memory.max", "memory.current")
    limits = {name: _text(machine.control_group / name).strip() for name in names}
    return devices.memory(_text(machine.proc / "meminfo"), limits)


def _tell(machine: Machine, used: Sequence[Device], log: Log) -> None:
    for device in used:
        log.info("inference compute", at="types.go", **device.used())
    if not used:
        total, free, _ = memory(machine)
        log.info("inference compute", at="types.go", **devices.cpu(total, free))


def _warn_of_overrides(environ: Environ, log: Log) -> None:
    chosen = {name: environment.variable(environ, name) for name in _OVERRIDES}
    for name, value in chosen.items():
        if value:
            log.warn("user overrode visible devices", at="runner.go", **{name: value})
    if any(chosen.values()):
        log.warn("if GPUs are not correctly discovered, unset and try again", at="runner.go")


def _ask(machine: Machine, environ: Environ, folder: Path, log: Log) -> list[Device]:
    child = gpu.child_environment(machine, environ, folder)
    library_path = [str(machine.library), str(folder)]
    try:
        text = _start_briefly(machine, child) + _list(machine, child)
    except subprocess.TimeoutExpired:
        log.warn(
            "llama-server GPU discovery watchdog timed out", at="runner.go",
            OLLAMA_LIBRARY_PATH=library_path, extra_envs="map[]",
            error="context deadline exceeded",
        )  # fmt: skip
        return []
    except (OSError, subprocess.CalledProcessError) as error:
        log.info(
            "failure during llama-server GPU discovery", at="runner.go",
            OLLAMA_LIBRARY_PATH=library_path, extra_envs="map[]", error=error, detail="",
        )  # fmt: skip
        return []
    return devices.parse(text)


def _start_briefly(machine: Machine, child: dict[str, str]) -> str:
    """A server without a model, ended when it has told its system; it alone tells `uma`."""
    port = random.randint(49152, 65535)  # noqa: S311  (any free one)
    command = [str(machine.llama_server), "--port", str(port), "--host", "127.0.0.1",
               "--no-webui", "--offline", "--verbose"]  # fmt: skip
    lines: list[str] = []
    with subprocess.Popen(
        command, env=child, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, errors="replace",
    ) as process:  # fmt: skip
        watchdog = threading.Timer(_SECONDS, process.kill)
        watchdog.start()
        try:
            for line in process.stderr or ():
                lines.append(line)
                if "system_info:" in line:
                    break
        finally:
            timed_out = not watchdog.is_alive()
            watchdog.cancel()
            process.kill()
    if timed_out:
        raise subprocess.TimeoutExpired(command, _SECONDS)
    return "".join(lines)


def _list(machine: Machine, child: dict[str, str]) -> str:
    command = [str(machine.llama_server), "--list-devices", "--offline", "--verbose"]
    return subprocess.run(
        command, env=child, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", timeout=_SECONDS, check=True,
    ).stdout  # fmt: skip


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
