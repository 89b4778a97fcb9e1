"""The models that are loaded or are to be, and the processes that hold them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from apuhost.changes.blob import holder
from apuhost.changes.models import UNIT_NAME
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.model_names import short_name
from apuhost.probes.model_store import StoredModel
from apuhost.probes.ollama_api import LoadedModel
from apuhost.probes.runners import Process
from apuhost.settings.models import PinnedModel, gpu_layers
from apuhost.verdicts import Found
from apuhost.verdicts.parameter import DEPLOY
from apuhost.verdicts.several import several

NONE_ASKED = "models_list names none"


@dataclass(frozen=True)
class Judged:
    """One model: what was asked of it, what lies in the store, what is loaded.

    It may be `loaded` under the name of another tag that has its weights and parameters.
    """

    name: str
    asked: PinnedModel | None
    stored: StoredModel | None
    loaded: LoadedModel | None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the model says itself, under what the inventory asks."""
        own = self.stored.parameters if self.stored else {}
        return {**own, **(self.asked.parameters if self.asked else {})}

    @property
    def gpu_layers(self) -> int | None:
        """Layers that somebody chose for the GPU; None: as many as fit."""
        return gpu_layers(self.parameters)


def same_name(name: str) -> str:
    """A model's name as Ollama compares names: short, without regard to case."""
    return short_name(name).lower()


def loaded(facts: HostFacts) -> dict[str, LoadedModel]:
    """What is loaded, by `same_name`.

    Raises:
        Unreadable: Ollama does not say.
    """
    found = facts.ollama_api.loaded
    if found is None:
        raise Unreadable(f"Ollama does not say what is loaded: {facts.ollama_api.error}")
    return {same_name(model.name): model for model in found}


def judged(derived: Derived, facts: HostFacts) -> tuple[Judged, ...]:
    """Every model that is loaded or is to be, those of the inventory first.

    Raises:
        Unreadable: Ollama does not say what is loaded.
    """
    here = loaded(facts)
    listed = {same_name(model.name): model for model in derived.settings.models.models_list}
    asked = {name: model for name, model in listed.items() if model.preload or name in here}

    def one(name: str) -> Judged:
        stored = facts.model_store.named(name)
        found = here.get(name) or holder(stored, derived, facts)
        shown = asked[name].name if name in asked else here[name].name
        return Judged(shown, asked.get(name), stored, found)

    return tuple(map(one, dict.fromkeys((*asked, *here))))


def load_again(facts: HostFacts) -> str:
    """What to type so that what is preloaded is loaded: without the unit, only a deploy does."""
    with suppress(Unreadable):
        if not facts.units.known(UNIT_NAME):
            return DEPLOY
    return f"systemctl restart {UNIT_NAME}"


def each_asked(derived: Derived, look: Callable[[PinnedModel], Found]) -> Found:
    """The same look at every model of the inventory; without one there is nothing to show.

    Raises:
        Unreadable: as `several`.
    """
    models = derived.settings.models.models_list
    return several(models, look, lambda model: model.name) if models else Found(None, NONE_ASKED)


def each(
    derived: Derived, facts: HostFacts, look: Callable[[Judged, Derived, HostFacts], Found]
) -> Found:
    """The same look at every model; without one it cannot be shown here.

    Raises:
        Unreadable: as `judged` and `several`.
    """
    models = judged(derived, facts)
    if not models:
        return Found(None, "no model is loaded, and none is to be")
    return several(models, lambda model: look(model, derived, facts), lambda model: model.name)


def process(model: Judged, facts: HostFacts) -> Process:
    """The process that holds a model: it is known by the model's blob.

    Raises:
        Unreadable: it is not loaded, or there is no such process.
    """
    if model.loaded is None:
        raise Unreadable(f"{model.name} is not loaded: it has no runner (models.loaded)")
    if model.stored is None:
        raise Unreadable(f"{model.name} is not in the store, so its runner is not known")
    blobs = {layer.blob for layer in model.stored.layers if layer.kind == "model"}
    for found in facts.runners.processes:
        if found.runner and blob(found.runner.model) in blobs:
            return found
    raise Unreadable(f"no process holds {model.name}, which Ollama says is loaded")


def blob(path: str | None) -> str:
    """The name of a blob's file in a path, as a runner is given it."""
    return (path or "").rpartition("/")[2]
