"""ollama.offload and ollama.prompt_cache: what lies in the GPU's memory, and beside it."""

from apuhost.changes import compose
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.verdicts import Found, Layer, Question, Severity, Status, Verdict, judge, service
from apuhost.verdicts.loaded import Judged, each, judged
from apuhost.verdicts.parameter import DEPLOY
from apuhost.verdicts.variables import CACHE, server

GIB = 1024**3

MEMORY = "apuhost plan INVENTORY"
"""Its notes say what fits into the GPU's memory, with the numbers."""

CACHE_DEFAULT_MIB = "8192"
"""What llama.cpp takes without a word (--cache-ram), and no tool shows."""


def offload(derived: Derived, facts: HostFacts) -> Verdict:
    """Is every loaded model on the GPU whole, with all its layers?"""
    found = judge(
        Question("ollama.offload", "every loaded model whole on the GPU"),
        (
            (Layer.EFFECTIVE, lambda: each(derived, facts, _on_gpu)),
            (Layer.EFFECTIVE, lambda: _layers(derived, facts)),
        ),
    )
    if found.status is not Status.PASS or not facts.ollama_log.allocation_failed:
        return found
    return judge(
        Question("ollama.offload", "memory enough for every load", Severity.RECOMMENDED),
        ((Layer.EFFECTIVE, _short_of_memory),),
    )


def _short_of_memory() -> Found:
    said = "Ollama's log has a failed allocation since its start"
    return Found(False, "a load ran out of the GPU's memory", said, MEMORY)


def prompt_cache(derived: Derived, facts: HostFacts) -> Verdict:
    """Is the runners' cache of prompts in main memory as large as asked, and no larger?"""
    asked = derived.settings.ollama.ollama_prompt_cache_mib
    return judge(
        Question("ollama.prompt_cache", f"{asked} MiB of main memory for prompts"),
        (
            (Layer.CONFIGURED, lambda: _written(derived, facts)),
            (Layer.BOOTED, lambda: _created(derived, facts)),
            (Layer.LIVE, lambda: _running(derived, facts)),
            (Layer.EFFECTIVE, lambda: _limited(derived, facts)),
        ),
    )


def _on_gpu(model: Judged, derived: Derived, _: HostFacts) -> Found:
    """Whole, or in part with a num_gpu; where that has nothing there, no GPU was found."""
    found = model.loaded
    if found is None:
        raise Unreadable(f"{model.name} is not loaded (models.loaded)")
    said = f"GET /api/ps: {found.name} has size_vram {found.size_vram} of size {found.size}"
    if 0 < found.size == found.size_vram:
        return Found(True, f"{found.size / GIB:.1f} GiB on the GPU")
    share = 100 * found.size_vram // found.size if found.size else 0
    words = "on the CPU" if share == 0 else f"{share} % on the GPU, the rest on the CPU"
    if model.gpu_layers is not None:
        asked = f"num_gpu {model.gpu_layers}"
        if found.size_vram or model.gpu_layers == 0:
            return Found(True, f"{words}, as {asked} asks")
        log = f"docker logs {derived.settings.ollama.ollama_container_name}"
        return Found(False, f"{words} in spite of {asked}", said, log)
    return Found(False, words, said, MEMORY)


def _layers(derived: Derived, facts: HostFacts) -> Found:
    """The log's own count, since sizes that Ollama could not read are the file's: a false 100 %."""
    log = facts.ollama_log
    if log.vram_tracking_failed:
        name = service.container(derived, facts).name
        said = "VRAM tracking: no per-device buffer sizes were parsed"
        return Found(
            False, "Ollama does not know how much is on the GPU", said, f"docker logs {name}"
        )
    if log.layers is None:
        return each(derived, facts, _on_gpu)
    count = f"{log.layers.offloaded}/{log.layers.total}"
    if log.layers.offloaded >= log.layers.total:
        return Found(True, f"{count} layers on the GPU")
    if _chosen(log.layers.offloaded, derived, facts):
        return Found(True, f"{count} layers on the GPU, as num_gpu asks")
    return Found(False, f"{count} layers on the GPU", f"offloaded {count} layers to GPU", MEMORY)


def _chosen(layers: int, derived: Derived, facts: HostFacts) -> bool:
    """Whether a model's own num_gpu is so many: the log does not name the model that it counts."""
    return any(model.gpu_layers == layers for model in judged(derived, facts))


def _written(derived: Derived, facts: HostFacts) -> Found:
    told = service.written(facts)
    if not told:
        return Found(True, "no compose file of ours")
    return _asked(service.environment(told).get(CACHE), derived, compose.PATH)


def _created(derived: Derived, facts: HostFacts) -> Found:
    made = service.container(derived, facts)
    return _asked(made.environment.get(CACHE), derived, f"container {made.name}")


def _running(derived: Derived, facts: HostFacts) -> Found:
    process = server(derived, facts)
    return _asked(process.environment.get(CACHE), derived, f"/proc/{process.pid}/environ")


def _asked(value: str | None, derived: Derived, where: str) -> Found:
    asked = str(derived.settings.ollama.ollama_prompt_cache_mib)
    if (value or CACHE_DEFAULT_MIB) == asked:
        return Found(True, f"{asked} MiB")
    said = f"{where} has {f'{CACHE}={value}' if value is not None else f'no {CACHE}'}"
    words = f"{value} MiB" if value else f"llama.cpp's own {CACHE_DEFAULT_MIB} MiB"
    return Found(False, words, said, DEPLOY)


def _limited(derived: Derived, facts: HostFacts) -> Found:
    """A runner says so when it starts; none says it before a model is loaded, or for 0."""
    asked, found = derived.settings.ollama.ollama_prompt_cache_mib, facts.ollama_log.cache_limit_mib
    if found is None or found == asked:
        return Found(True, f"{asked} MiB" if asked else "no prompt cache")
    name = derived.settings.ollama.ollama_container_name
    said = f"prompt cache is enabled, size limit: {found} MiB"
    return Found(False, f"{found} MiB", said, f"docker restart {name}")
