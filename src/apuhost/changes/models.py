"""What the models role changes: pulls, parameters, the unit that loads models after boot."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from apuhost import roles
from apuhost.changes import FileChange, RolePlan, due, fit, owned
from apuhost.changes.blob import holder
from apuhost.changes.container import ANYWHERE, differences
from apuhost.changes.units import not_enabled
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts
from apuhost.probes.model_manifest import weights
from apuhost.probes.model_store import KeptManifest, StoredModel
from apuhost.settings.models import PinnedModel, gpu_layers

UNIT_NAME = "apuhost-models.service"
UNIT = f"/etc/systemd/system/{UNIT_NAME}"
PROGRAM = "/usr/local/lib/apuhost/preload"
SHOWN_DIGITS = 12
UNKNOWN = "it was changed on the host, so its registry's digest is not known"

Given = StoredModel | KeptManifest


def plan(derived: Derived, facts: HostFacts) -> RolePlan:
    """Everything that is due for the models role."""
    asked = derived.settings.models.models_list
    kept = (due(model.name, "manifest kept", keep(model, facts)) for model in asked)
    how = (_how(model, derived, facts) for model in asked)
    pulled = (
        due(model.name, word, pull(model, facts)) for model, word in zip(asked, how, strict=True)
    )
    changed = (due(model.name, "parameters set", unset(model, facts)) for model in asked)
    return RolePlan(
        "models",
        files=(*program(derived, facts), *unit(derived, facts)),
        actions=(
            *(action for actions in (*kept, *pulled, *changed) for action in actions),
            *due(UNIT_NAME, "enabled and run", unloaded(derived, facts)),
        ),
        notes=tuple(_notes(derived, facts)),
    )


def given(model: PinnedModel, facts: HostFacts) -> Given | None:
    """The model as its registry gave it, by what is here; None where nothing here tells.

    A manifest in the store that has the pinned digest is that, whatever was kept before. Without a
    pin what is here counts: it is told by the kept manifest, or by the store's untouched one.
    """
    stored = facts.model_store.named(model.name)
    kept = facts.model_store.kept_named(model.name)
    if stored is None or not stored.whole:
        return kept
    if model.digest:
        return stored if stored.digest == model.digest else kept
    if kept and weights(kept.layers) == weights(stored.layers):
        return kept
    return stored if _untouched(model, stored) else None


def _untouched(model: PinnedModel, stored: StoredModel) -> bool:
    """Whether a manifest is as it was pulled.

    One that Ollama made notes of its layers where they are from (server/create.go).
    """
    made = any(layer.origin for layer in stored.layers)
    ours = any(stored.parameters.get(name) == value for name, value in model.parameters.items())
    return not made and not ours


def keep(model: PinnedModel, facts: HostFacts) -> tuple[str, ...]:
    """Why the manifest in the store must be kept aside: setting parameters changes it."""
    found = given(model, facts)
    kept = facts.model_store.kept_named(model.name)
    if not isinstance(found, StoredModel) or (kept and kept.digest == found.digest):
        return ()
    return ("it is here as its registry gave it",)


def pull(model: PinnedModel, facts: HostFacts) -> tuple[str, ...]:
    """Why the registry must be asked, and perhaps pulled from.

    The model is not here, not whole, or not what its registry gave. Without a pin it is whatever
    is here: the tag may have moved on.
    """
    stored, found = facts.model_store.named(model.name), given(model, facts)
    if stored is None:
        return ("it is not here",)
    if not stored.whole:
        return ("a part of it is missing",)
    if found is None:
        return ("its registry's manifest is not kept",) if model.digest else ()
    return tuple(_strays(model, stored, found))


def _how(model: PinnedModel, derived: Derived, facts: HostFacts) -> str:
    """A model that somebody else pulled is not pulled again when its registry still has it so."""
    if derived.settings.mirrored("models"):
        return "taken from the mirror"
    stored = facts.model_store.named(model.name)
    unkept = facts.model_store.kept_named(model.name) is None
    return "compared with its registry" if stored and stored.whole and unkept else "pulled"


def _strays(model: PinnedModel, stored: StoredModel, found: Given) -> Iterator[str]:
    if model.digest and found.digest != model.digest:
        yield f"it is {found.digest[:SHOWN_DIGITS]}, pinned is {model.digest[:SHOWN_DIGITS]}"
    if weights(stored.layers) != weights(found.layers):
        yield "another model lies under its name"
    unasked = stored.parameters.keys() - found.parameters.keys() - model.parameters.keys()
    if unasked:
        yield f"it has parameters that nobody asks for: {', '.join(sorted(unasked))}"


def unset(model: PinnedModel, facts: HostFacts) -> tuple[str, ...]:
    """Parameters that the model has not, or has otherwise, after the pull that may be due."""
    found = _found(model, facts)
    return tuple(
        f"{name} {json.dumps(value)}{_instead(name, found)}"
        for name, value in wanted(model, facts).items()
        if name not in found or found[name] != value
    )


def wanted(model: PinnedModel, facts: HostFacts) -> dict[str, Any]:
    """The parameters that the model should have: its registry's under ours."""
    found = given(model, facts)
    return {**(found.parameters if found else {}), **model.parameters}


def _found(model: PinnedModel, facts: HostFacts) -> Mapping[str, Any]:
    stored = facts.model_store.named(model.name)
    kept = facts.model_store.kept_named(model.name)
    if stored is None:
        return {}
    # A pull brings the registry's own back, unless all that is missing is its manifest.
    return kept.parameters if kept and pull(model, facts) else stored.parameters


def _instead(name: str, found: Mapping[str, Any]) -> str:
    return f" instead of {json.dumps(found[name])}" if name in found else ""


def program(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """What loads the models, where one is to be loaded after boot, or was."""
    return _file(PROGRAM, derived, facts, "loads the models after every boot")


def unit(derived: Derived, facts: HostFacts) -> tuple[FileChange, ...]:
    """The unit that runs it after every boot."""
    return _file(UNIT, derived, facts)


def _file(
    path: str, derived: Derived, facts: HostFacts, purpose: str = ""
) -> tuple[FileChange, ...]:
    before = facts.units.text(path)
    if before is None and not derived.settings.models.preloaded:
        return ()
    return owned(path, before, roles.render("models", path, values(derived)), purpose)


def unloaded(derived: Derived, facts: HostFacts) -> tuple[str, ...]:
    """Why the unit must run: it or its program changes, or a model is not loaded (any more)."""
    changing = (*program(derived, facts), *unit(derived, facts))
    if changing:
        return tuple(f"{change.path} changes" for change in changing)
    if not derived.settings.models.preloaded:
        return ()
    if "ollama" in derived.settings.host.host_roles and differences(derived, facts):
        return ("the container is made again",)
    unready = (
        f"{model.name} {why}"
        for model in derived.settings.models.preloaded
        for why in _unready(model, derived, facts)
    )
    return (*unready, *not_enabled(UNIT_NAME, facts))


def _unready(model: PinnedModel, derived: Derived, facts: HostFacts) -> Iterator[str]:
    """Why a model must be loaded anew: a runner keeps what it was started with."""
    stored = facts.model_store.named(model.name)
    loaded = {each.name.lower(): each for each in facts.ollama_api.loaded or ()}
    found = loaded.get(model.name.lower()) or holder(stored, derived, facts)
    lies = facts.model_store.named(found.name) if found else None
    for_good = str(derived.settings.ollama.ollama_keep_alive).startswith("-")
    if pull(model, facts) or unset(model, facts):
        yield "changes"
    elif found is None:
        yield "is not loaded"
    elif lies and found.digest != lies.digest:
        yield "is loaded as it was before it was changed"
    elif for_good and not found.keeps(datetime.fromtimestamp(facts.boot.now, UTC)):
        yield "is not kept for good: a client asked for another keep_alive"


def values(derived: Derived) -> dict[str, object]:
    """The variables that roles/models/templates may use."""
    address, number = api(derived)
    keep = derived.settings.ollama.ollama_keep_alive
    return {
        "ollama_container_name": derived.settings.ollama.ollama_container_name,
        "api_address": address,
        "api_port": number,
        "ollama_context_length": derived.settings.ollama.ollama_context_length,
        "preloaded_models": [
            {
                "name": model.name,
                "unload": _keep(model, 0),
                "load": _keep(model, keep),
                "least_on_gpu": _least_on_gpu(model),
            }
            for model in derived.settings.models.preloaded
        ],
    }


def _keep(model: PinnedModel, keep: int | str) -> str:
    """An empty request only loads a model, or unloads it with 0 (Ollama's API)."""
    return json.dumps({"model": model.name, "keep_alive": keep})


def _least_on_gpu(model: PinnedModel) -> int | str:
    """Bytes that must be on the GPU: all, but in part with a num_gpu, and none with 0."""
    layers = gpu_layers(model.parameters)
    return "all" if layers is None else min(layers, 1)


def api(derived: Derived) -> tuple[str, str]:
    """Address and port at which the host itself reaches the API."""
    ollama = derived.settings.ollama
    here = "::1" if ":" in ollama.address else "127.0.0.1"
    return here if ollama.address in ANYWHERE else ollama.address, str(ollama.port)


def _notes(derived: Derived, facts: HostFacts) -> Iterator[str]:
    for model in derived.settings.models.models_list:
        yield from _pin(model, facts)
        yield from fit.notes(model, derived, facts)


def _pin(model: PinnedModel, facts: HostFacts) -> Iterator[str]:
    if model.digest:
        return
    stored, found = facts.model_store.named(model.name), given(model, facts)
    if found:
        yield f'{model.name} is not pinned: "digest": "{found.digest}"'
    elif stored is None:
        yield f"{model.name} is not pinned: the plan prints its digest once it is here"
    else:
        yield f"{model.name} is not pinned: {UNKNOWN}"
