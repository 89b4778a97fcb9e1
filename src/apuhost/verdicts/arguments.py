"""A runner's arguments against what was asked, each difference in words and as it stands there.

Rules: llm/llama_server.go of Ollama 0.30 and later.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.runners import Runner
from apuhost.verdicts.loaded import Judged, blob


def differences(
    model: Judged, shown: Runner, derived: Derived, facts: HostFacts
) -> Iterator[tuple[str, str]]:
    """Every difference: in words, and as the command line has it."""
    yield from _sizes(model, shown, derived)
    yield from _types(shown, derived)
    yield from _layers(model, shown, facts)
    yield from _projector(model, shown)
    yield from _draft(model, shown)


def _sizes(model: Judged, shown: Runner, derived: Derived) -> Iterator[tuple[str, str]]:
    """Batch, context and slots that differ: in words, and as the command line has them."""
    batch = _asked(model).get("num_batch")
    sizes = (("batch", "-b", shown.batch), ("micro-batch", "-ub", shown.ubatch))
    for name, option, size in sizes if batch is not None else ():
        if size != batch:
            found = f"{name} {size}" if size else f"a {name} of llama.cpp's own choice"
            yield f"{found} instead of {batch}", f"{option} {size}" if size else f"no {option}"
    wanted = context(model, shown, derived)
    if wanted and shown.ctx_per_slot != wanted:
        option = f"-c {shown.ctx_total} -np {shown.parallel}"
        yield f"context {shown.ctx_per_slot} instead of {wanted} tokens", option
    # Of some families Ollama makes one slot whatever is asked (server/sched.go).
    slots = derived.settings.ollama.ollama_num_parallel
    if shown.parallel not in (1, slots):
        yield f"{shown.parallel} slots instead of {slots}", f"-np {shown.parallel}"


def _asked(model: Judged) -> Mapping[str, Any]:
    return model.asked.parameters if model.asked else {}


def context(model: Judged, shown: Runner, derived: Derived) -> int | None:
    """Tokens of one slot, where somebody says: the model, else the server for all but embedding."""
    if model.asked is None:
        return None
    own = model.parameters.get("num_ctx")
    if isinstance(own, int):
        return own
    return None if shown.embedding else derived.settings.ollama.ollama_context_length or None


def _types(shown: Runner, derived: Derived) -> Iterator[tuple[str, str]]:
    asked = derived.settings.ollama
    attention = shown.flash_attention or "auto"
    if attention != asked.ollama_flash_attention:
        wanted = asked.ollama_flash_attention
        yield f"flash attention {attention} instead of {wanted}", f"--flash-attn {attention}"
    for option, kind in (("k", shown.cache_type_k), ("v", shown.cache_type_v)):
        if (kind or "f16") != asked.ollama_kv_cache_type:
            words = f"KV cache of {kind or 'f16'} instead of {asked.ollama_kv_cache_type}"
            yield words, f"--cache-type-{option} {kind}" if kind else f"no --cache-type-{option}"


def _layers(model: Judged, shown: Runner, facts: HostFacts) -> Iterator[tuple[str, str]]:
    """Without -ngl llama.cpp takes what fits; a number is somebody's choice."""
    count, own = shown.gpu_layers, model.gpu_layers
    if own is not None:
        if count != own:
            yield f"{count} layers on the GPU instead of {own}", f"-ngl {count}"
    elif isinstance(count, int) and count >= 0:
        layers = facts.ollama_log.layers
        if count == 0 or (layers and count < layers.total):
            yield f"only {count} layers on the GPU", f"-ngl {count}"


def _projector(model: Judged, shown: Runner) -> Iterator[tuple[str, str]]:
    layers = model.stored.layers if model.stored else ()
    wanted = {layer.blob for layer in layers if layer.kind == "projector"}
    found = blob(shown.mmproj)
    if wanted and found not in wanted:
        option = f"--mmproj {found}" if found else "no --mmproj"
        yield "no vision: its projector is not loaded", option
    # A model that has a projector inside is named twice (llama_server.go).
    elif found and not wanted and found != blob(shown.model):
        yield "a projector that is not the model's", f"--mmproj {found}"


def _draft(model: Judged, shown: Runner) -> Iterator[tuple[str, str]]:
    """Speculative decoding where it is asked, and nowhere else."""
    asked, own = _asked(model).get("draft_num_predict"), model.parameters.get("draft_num_predict")
    layers = model.stored.layers if model.stored else ()
    drafting = any(layer.kind == "draft" for layer in layers)
    option = f"--spec-type {shown.spec_type} --spec-draft-n-max {shown.draft_n_max}"
    if asked and not shown.spec_type:
        yield f"no speculative decoding instead of {asked} tokens ahead", "no --spec-type"
    elif shown.spec_type and own and shown.draft_n_max != own:
        yield f"{shown.draft_n_max} tokens ahead instead of {own}", option
    # A model with a layer of its own for it does so unasked.
    elif shown.spec_type and (own == 0 or (own is None and not drafting)):
        yield "speculative decoding that nobody asked for", option
