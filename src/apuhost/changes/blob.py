"""Tags on one blob of weights: what each starts a runner with, and whose runner answers for which.

Ollama keeps its runners by the blob, and names each by the tag that loaded it (server/sched.go).
"""

from collections.abc import Mapping

from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.model_store import StoredModel
from apuhost.probes.ollama_api import LoadedModel
from apuhost.settings.models import gpu_layers

FILES = ("adapter", "projector")
DRAFTED = 4
"""Tokens ahead where a draft model lies beside the weights and nobody says (modelOptions)."""


def weights(model: StoredModel) -> frozenset[str]:
    """The digests of a model's weights."""
    return _digests(model, "model")


def started(model: StoredModel, derived: Derived) -> Mapping[str, object]:
    """What a runner is started with: each name is of a parameter, or of a kind of file."""
    own = model.parameters
    drafted = DRAFTED if _digests(model, "draft") else 0
    return {
        "num_ctx": own.get("num_ctx", derived.settings.ollama.ollama_context_length or None),
        "num_batch": own.get("num_batch"),
        "num_gpu": gpu_layers(own),
        "num_thread": own.get("num_thread", 0),
        "use_mmap": own.get("use_mmap"),
        "main_gpu": own.get("main_gpu"),
        "draft_num_predict": own.get("draft_num_predict", drafted),
        **{kind: _digests(model, kind) for kind in FILES},
    }


def holder(model: StoredModel | None, derived: Derived, facts: HostFacts) -> LoadedModel | None:
    """What is loaded under another tag's name with the model's weights and parameters."""
    if model is None or not model.whole:
        return None
    for loaded in facts.ollama_api.loaded or ():
        other = facts.model_store.named(loaded.name)
        if other and loaded.digest == other.digest and _one_runner(model, other, derived):
            return loaded
    return None


def _one_runner(model: StoredModel, other: StoredModel, derived: Derived) -> bool:
    shared = other is not model and other.whole and weights(model) == weights(other)
    return shared and started(model, derived) == started(other, derived)


def _digests(model: StoredModel, kind: str) -> frozenset[str]:
    return frozenset(layer.digest for layer in model.layers if layer.kind == kind)
