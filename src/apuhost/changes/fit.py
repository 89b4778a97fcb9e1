"""Whether a model fits: weights and context into the GTT, a prefill step under the watchdog."""

from collections.abc import Iterable, Iterator

from apuhost import sizing
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.model_manifest import Layer
from apuhost.settings.models import PinnedModel, gpu_layers

IN_MEMORY = frozenset({"model", "projector", "adapter", "draft"})
"""Layers that a runner loads; the others are texts."""


def notes(model: PinnedModel, derived: Derived, facts: HostFacts) -> Iterator[str]:
    """What will not go well, with its numbers."""
    yield from _memory(model, derived, facts)
    yield from _prompt_cache(model, derived)
    yield from _watchdog(model, derived)


def context(model: PinnedModel, derived: Derived) -> int:
    """Tokens of context of all the model's slots."""
    own = model.parameters.get("num_ctx")
    asked = own if isinstance(own, int) else derived.settings.ollama.ollama_context_length
    tokens = asked or sizing.automatic_context(_gtt_gib(derived))
    return tokens * derived.settings.ollama.ollama_num_parallel


def _gtt_gib(derived: Derived) -> float:
    """The kernel's own default is half of the memory."""
    return derived.gtt_gib or derived.mem_total_kib / sizing.KIB_PER_GIB / 2


def memory(model: PinnedModel, layers: Iterable[Layer], derived: Derived) -> tuple[str, ...]:
    """Why a model of these layers is not on the GPU whole; its cache counts where it is known."""
    if gpu_layers(model.parameters) is not None:
        return ()  # a part of it is meant for the CPU
    weights = sum(layer.size for layer in layers if layer.kind in IN_MEMORY)
    tokens = context(model, derived)
    fit = sizing.fit(weights, tokens, model.kv_bytes_per_token or 0, _gtt_gib(derived))
    return () if fit.holds else (f"{fit} ({tokens} tokens)",)


def _memory(model: PinnedModel, derived: Derived, facts: HostFacts) -> Iterator[str]:
    stored = facts.model_store.named(model.name)
    for why in memory(model, stored.layers, derived) if stored else ():
        yield f"{model.name}: {why}"


def _prompt_cache(model: PinnedModel, derived: Derived) -> Iterator[str]:
    cache = derived.settings.ollama.ollama_prompt_cache_mib
    needed = sizing.mib(context(model, derived) * (model.kv_bytes_per_token or 0))
    if needed > cache:
        yield f"{model.name}: ollama_prompt_cache_mib {cache} holds no full context ({needed} MiB)"


def _watchdog(model: PinnedModel, derived: Derived) -> Iterator[str]:
    tokens = context(model, derived) // derived.settings.ollama.ollama_num_parallel
    own = model.parameters.get("num_batch")
    batch = own if isinstance(own, int) else sizing.automatic_batch(tokens)
    seconds, limit = sizing.prefill_step_s(batch, tokens), derived.rings.compute / 1000
    if 0 < limit < seconds:
        yield (
            f"{model.name}: at {tokens} tokens a batch of {batch} takes {seconds:.1f} s (as on a "
            f"780M), the watchdog resets the GPU after {limit:g} s: a smaller num_batch"
        )
