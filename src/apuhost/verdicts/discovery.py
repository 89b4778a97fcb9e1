"""ollama.gpu: did Ollama's server find the GPU when it started?

It looks once, when it starts (discover/runner.go); what it missed then stays missing until it is
started again. Devices are judged by library and type: a CPU's name may hold the word Radeon.
"""

from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.compute_devices import ComputeDevice
from apuhost.probes.ollama_log import OllamaLog
from apuhost.verdicts import Found, Layer, Question, Severity, Status, Verdict, judge, service
from apuhost.verdicts.parameter import DEPLOY
from apuhost.verdicts.versions import NONE, container_mesa

LIBRARIES = {"vulkan": "Vulkan", "rocm": "ROCm"}
GPU_TYPES = frozenset({"igpu", "discrete"})
BACKEND = "GGML_BACKEND_PATH"
"""What the server gives a runner that is to use the GPU (llm/llama_server.go, since 0.30)."""

GIB = 1024**3


def gpu(derived: Derived, facts: HostFacts) -> Verdict:
    """Does Ollama compute on the GPU, through the asked library? One lost since is worth a word."""
    library = LIBRARIES[derived.settings.ollama.ollama_backend]
    found = judge(
        Question("ollama.gpu", f"the GPU found by Ollama, through {library}"),
        ((Layer.EFFECTIVE, lambda: _found(library, derived, facts)),),
    )
    if found.status is not Status.PASS or not facts.ollama_log.device_lost:
        return found
    return judge(
        Question("ollama.gpu", "a GPU that is never lost", Severity.RECOMMENDED),
        ((Layer.EFFECTIVE, _lost),),
    )


def _lost() -> Found:
    """A job that outlasts amdgpu's watchdog ends with the GPU's reset; the next one may work."""
    said = "Ollama's log has ErrorDeviceLost since its start"
    fix = "journalctl -k -b | grep 'ring .* timeout', then a smaller num_batch"
    return Found(False, "the GPU was reset under Ollama", said, fix)


def _found(library: str, derived: Derived, facts: HostFacts) -> Found:
    name = service.container(derived, facts).name
    again = f"docker restart {name}"
    log = facts.ollama_log
    right = [device for device in log.devices if _computes(device, library)]
    if log.dropped and (derived.settings.ollama.ollama_igpu_enable or not right):
        device = log.dropped[0]
        said = f"dropping integrated GPU: {device.description or device.name}"
        return Found(False, "Ollama dropped the integrated GPU", said, DEPLOY)
    if right:
        return Found(True, f"{_told(right[0])}{_mesa(library, facts)}")
    if log.discovery_timed_out:
        return Found(False, "Ollama's search for GPUs timed out", "GPU discovery: timed out", again)
    if log.devices:
        device = log.devices[0]
        said = f"inference compute: library={device.library} name={device.name}"
        return Found(False, f"Ollama computes on {_named(device)}", said, again)
    return _by_runner(library, log, facts)


def _computes(device: ComputeDevice, library: str) -> bool:
    drawn = "llvmpipe" in (device.description or "")
    known = (device.type or "igpu").lower() in GPU_TYPES
    return (device.library or "").lower() == library.lower() and known and not drawn


def _named(device: ComputeDevice) -> str:
    if (device.library or "").lower() == "cpu":
        return "the CPU"
    return f"{device.description or device.name} through {device.library}"


def _told(device: ComputeDevice) -> str:
    size = device.available_bytes
    free = f", {size / GIB:.1f} GiB available" if size else ""
    return f"{device.description or device.name} through {device.library}{free}"


def _mesa(library: str, facts: HostFacts) -> str:
    """The container's own; where that cannot be read, boot.unchanged says why."""
    if library != LIBRARIES["vulkan"]:
        return ""
    try:
        mesa = container_mesa(facts)
    except Unreadable:
        return ""
    return f", Mesa {mesa} in its container" if mesa != NONE else ""


def _by_runner(library: str, log: OllamaLog, facts: HostFacts) -> Found:
    """The log's beginning is gone: a runner's environment tells what it was given."""
    for process in facts.runners.processes:
        backend = process.environment.get(BACKEND, "")
        if process.runner and library.lower() in backend.lower():
            return Found(True, f"{library}, as runner {process.pid} was told ({backend})")
    if log.server_starts:
        raise Unreadable("Ollama's log has no word of GPUs yet: it still looks for them")
    raise Unreadable("the beginning of Ollama's log, which tells of GPUs, is gone")
