"""ollama.runner: do the processes that hold the models have the arguments that were asked?

Only what the inventory asks is judged: Ollama chooses a batch by itself where a model has no
num_batch, and llama.cpp the layers where there is no num_gpu.
"""

from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.verdicts import Found, Layer, Question, Verdict, judge
from apuhost.verdicts.arguments import context, differences
from apuhost.verdicts.loaded import Judged, each, load_again, process
from apuhost.verdicts.parameter import DEPLOY

OPTIONS = ("num_batch", "num_ctx", "num_gpu", "draft_num_predict")
"""Parameters of a model that become arguments of its runner."""

SHOWING = 3
"""The generation of runners whose arguments can be read: llama-server, since 0.30."""


def runner(derived: Derived, facts: HostFacts) -> Verdict:
    """Is every loaded model run with the context, batch, slots and types that were asked?"""
    return judge(
        Question("ollama.runner", "each model's runner with the arguments of the inventory"),
        (
            (Layer.CONFIGURED, lambda: each(derived, facts, _stored)),
            (Layer.LIVE, lambda: each(derived, facts, _live)),
            (Layer.EFFECTIVE, lambda: each(derived, facts, _effective)),
        ),
    )


def _stored(model: Judged, _: Derived, __: HostFacts) -> Found:
    """The model's own parameters, which a pull of its tag replaces."""
    if model.asked is None:
        return Found(True, "nothing asked")
    if model.stored is None:
        raise Unreadable(f"{model.name} is not in the store (models.pinned)")
    for name in OPTIONS:
        value, found = model.asked.parameters.get(name), model.stored.parameters.get(name)
        if value is not None and found != value:
            shown = f"is {found}" if name in model.stored.parameters else "is not set"
            said = f"{model.stored.path}: {name} {shown}"
            return Found(False, f"{name} {shown}, not {value}", said, DEPLOY)
    return Found(True, "parameters as asked")


def _live(model: Judged, derived: Derived, facts: HostFacts) -> Found:
    holder = process(model, facts)
    shown = holder.runner
    if shown is None or shown.generation < SHOWING:
        raise Unreadable(f"runner {holder.pid} does not show its arguments (before 0.30)")
    for words, option in differences(model, shown, derived, facts):
        said = f"/proc/{holder.pid}/cmdline has {option}"
        return Found(False, words, said, _again(model, derived, facts))
    slots = f"{shown.parallel} slot{'s' if shown.parallel != 1 else ''}"
    return Found(True, f"batch {shown.batch}, {slots} of {shown.ctx_per_slot} tokens")


def _effective(model: Judged, derived: Derived, facts: HostFacts) -> Found:
    """What Ollama itself says of the context that a slot has."""
    shown = process(model, facts).runner
    wanted = context(model, shown, derived) if shown else None
    told = model.loaded.context_length if model.loaded else None
    if model.loaded and wanted and told is not None and told != wanted:
        said = f"GET /api/ps: {model.loaded.name} has context_length {told}"
        words = f"context {told} instead of {wanted} tokens"
        return Found(False, words, said, _again(model, derived, facts))
    batch = f"batch {shown.batch}, " if shown and shown.batch else ""
    return Found(True, f"{batch}{told or 'unknown'} tokens of context")


def _again(model: Judged, derived: Derived, facts: HostFacts) -> str:
    """A client's own options load a model anew with them; loading it as preload does mends it."""
    if model.asked is not None and model.asked.preload:
        return load_again(facts)
    return f"docker exec {derived.settings.ollama.ollama_container_name} ollama stop {model.name}"
