"""Verdicts on the models role: the pinned models, with our parameters, loaded, and generating."""

import json
from datetime import UTC, datetime

from apuhost import verdict_ids
from apuhost.changes import models as changes
from apuhost.changes.blob import holder
from apuhost.changes.models import SHOWN_DIGITS
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.model_store import StoredModel
from apuhost.probes.units import Unit
from apuhost.settings import Settings
from apuhost.settings.models import PinnedModel
from apuhost.verdicts import Found, Layer, Question, Severity, Status, Verdict, judge
from apuhost.verdicts.blob import blob
from apuhost.verdicts.generation import generation
from apuhost.verdicts.loaded import each_asked, load_again, same_name
from apuhost.verdicts.loaded import loaded as loaded_models
from apuhost.verdicts.parameter import DEPLOY
from apuhost.verdicts.requires import requires
from apuhost.verdicts.several import several

NONE_PRELOADED = "models_list preloads none"

IDS = verdict_ids.MODELS
"""What `verdicts` answers, in its order."""

ACTIVE_IDS = verdict_ids.MODELS_ACTIVE
"""What it answers beside them when the hosts were asked for a token (--active)."""


def verdicts(_: Settings, derived: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """Every verdict of this concern, in a fixed order."""
    asked = (pinned, requires, parameters, blob, loaded, preload)
    return (*(judged(derived, facts) for judged in asked), *generation(derived, facts))


def pinned(derived: Derived, facts: HostFacts) -> Verdict:
    """Is every model what its registry gave and the inventory pins? No pin is worth a word."""
    expected = "every model as its registry gave it"
    found = judge(
        Question("models.pinned", f"{expected}, by the pinned digest"),
        (
            (Layer.CONFIGURED, lambda: each_asked(derived, lambda model: _stored(model, facts))),
            (
                Layer.EFFECTIVE,
                lambda: each_asked(derived, lambda model: _listed(model, derived, facts)),
            ),
        ),
    )
    loose = [model for model in derived.settings.models.models_list if not model.digest]
    if found.status is not Status.PASS or not loose:
        return found

    def unpinned(model: PinnedModel) -> Found:
        return _unpinned(model, derived, facts)

    return judge(
        Question("models.pinned", "every model with a digest", Severity.RECOMMENDED),
        ((Layer.CONFIGURED, lambda: several(loose, unpinned, _name)),),
    )


def parameters(derived: Derived, facts: HostFacts) -> Verdict:
    """Has every model our parameters, its registry's beside them, and no other?"""
    return judge(
        Question("models.parameters", "every model's parameters as in the inventory"),
        ((Layer.CONFIGURED, lambda: each_asked(derived, lambda model: _options(model, facts))),),
    )


def loaded(derived: Derived, facts: HostFacts) -> Verdict:
    """Is every model that is to be loaded in memory, and does it stay?"""
    keep = derived.settings.ollama.ollama_keep_alive
    for_good = str(keep).startswith("-")
    return judge(
        Question("models.loaded", f"models loaded{', for good' if for_good else ''}"),
        ((Layer.EFFECTIVE, lambda: _preloaded(derived, facts, for_good)),),
    )


def preload(derived: Derived, facts: HostFacts) -> Verdict:
    """Does the unit that loads them after a boot stand as rendered, enabled, and did it work?"""
    return judge(
        Question("models.preload", f"{changes.UNIT_NAME} enabled, its last run good"),
        (
            (Layer.CONFIGURED, lambda: _unit(derived, facts)),
            (Layer.LIVE, lambda: _ran(derived, facts)),
        ),
    )


def _name(model: PinnedModel) -> str:
    return model.name


def _stored(model: PinnedModel, facts: HostFacts) -> Found:
    """Every layer but the parameters is what the registry gave, and that is what was pinned."""
    found, given = facts.model_store.named(model.name), changes.given(model, facts)
    if found is None:
        where = facts.model_store.directory or "Ollama's store"
        return Found(False, "it is not here", f"{where} has no manifest of it", DEPLOY)
    if not found.whole:
        return Found(False, "a part of it is missing", f"{found.path}: blobs are missing", DEPLOY)
    if given is None:
        return _not_as_pulled(model, found)
    if model.digest and given.digest != model.digest:
        shown = given.digest[:SHOWN_DIGITS]
        words = f"it is {shown}, pinned is {model.digest[:SHOWN_DIGITS]}"
        return Found(False, words, f"sha256 of {given.path} is {shown}", DEPLOY)
    if other := _other_layer(found, given):
        said = f"{found.path} has {other}, {given.path} has not"
        return Found(False, "another model lies under its name", said, DEPLOY)
    return Found(True, f"is {given.digest[:SHOWN_DIGITS]}")


def _not_as_pulled(model: PinnedModel, found: StoredModel) -> Found:
    """What its registry gave is not known, which only a pin asks for."""
    shown = found.digest[:SHOWN_DIGITS]
    if not model.digest:
        return Found(True, f"is {shown}, as it was changed here")
    said = f"sha256 of {found.path} is {shown}, and no manifest is kept"
    return Found(False, "what its registry gave is not known", said, DEPLOY)


def _other_layer(found: StoredModel, given: changes.Given) -> str:
    """A blob of one manifest that the other has not."""
    here, there = (
        {layer.digest for layer in layers if not layer.is_params}
        for layers in (found.layers, given.layers)
    )
    return next(iter(sorted(here - there) or sorted(there - here)), "")


def _listed(model: PinnedModel, derived: Derived, facts: HostFacts) -> Found:
    """The server has the model that lies in the store, and no other one."""
    listed, found = facts.ollama_api.models, facts.model_store.named(model.name)
    if listed is None:
        raise Unreadable(f"Ollama does not list its models: {facts.ollama_api.error}")
    told = next((each for each in listed if same_name(each.name) == same_name(model.name)), None)
    volume = f"docker inspect -f '{{{{.Mounts}}}}' {derived.settings.ollama.ollama_container_name}"
    if told is None:
        said = f"GET /api/tags has no {model.name}"
        return Found(False, "Ollama does not list it", said, volume)
    if found is not None and told.digest != found.digest:
        said = f"GET /api/tags has {told.digest[:SHOWN_DIGITS]}, {found.path} is another"
        return Found(False, "Ollama lists another one", said, volume)
    given = changes.given(model, facts)
    if given is None:
        return Found(True, f"is {told.digest[:SHOWN_DIGITS]}, as it was changed here")
    return Found(True, f"as its registry gave it, {given.digest[:SHOWN_DIGITS]}")


def _unpinned(model: PinnedModel, derived: Derived, facts: HostFacts) -> Found:
    given = changes.given(model, facts)
    if given is None:
        container = derived.settings.ollama.ollama_container_name
        pull = f"docker exec {container} ollama pull {model.name}, then deploy"
        return Found(False, "not pinned", f"{model.name}: {changes.UNKNOWN}", pull)
    said = f"models_list has no digest for {model.name}"
    return Found(False, "not pinned", said, f'write "digest": "{given.digest}"')


def _options(model: PinnedModel, facts: HostFacts) -> Found:
    found = facts.model_store.named(model.name)
    if found is None:
        raise Unreadable(f"{model.name} is not in the store (models.pinned)")
    wanted = changes.wanted(model, facts)
    for name, value in wanted.items():
        if found.parameters.get(name) != value:
            shown = json.dumps(found.parameters[name]) if name in found.parameters else "not set"
            words = f"{name} is {shown}, not {json.dumps(value)}"
            return Found(False, words, f"{found.path}: {name} is {shown}", DEPLOY)
    known = changes.given(model, facts) is not None
    unasked = sorted(found.parameters.keys() - wanted.keys()) if known else []
    if unasked:
        shown = f"{unasked[0]} is {json.dumps(found.parameters[unasked[0]])}"
        return Found(False, f"{shown}, and nobody asked", f"{found.path}: {shown}", DEPLOY)
    shown = ", ".join(f"{name} {json.dumps(value)}" for name, value in model.parameters.items())
    return Found(True, shown or "its registry's")


def _preloaded(derived: Derived, facts: HostFacts, for_good: bool) -> Found:
    models = derived.settings.models.preloaded
    if not models:
        return Found(None, NONE_PRELOADED)
    here, now = loaded_models(facts), datetime.fromtimestamp(facts.boot.now, UTC)

    def look(model: PinnedModel) -> Found:
        own = facts.model_store.named(model.name)
        found = here.get(same_name(model.name)) or holder(own, derived, facts)
        if found is None:
            said = f"GET /api/ps has no {model.name}"
            return Found(False, "it is not loaded", said, load_again(facts))
        stored = facts.model_store.named(found.name)
        if stored is not None and found.digest != stored.digest:
            said = f"GET /api/ps has {found.digest[:SHOWN_DIGITS]}, {stored.path} is another"
            return Found(
                False, "it is loaded as it was before it was changed", said, load_again(facts)
            )
        if for_good and not found.keeps(now):
            said = f"GET /api/ps: {found.name} has expires_at {found.expires_at}"
            return Found(False, f"it goes at {found.expires_at}", said, load_again(facts))
        stay = "for good" if for_good else f"until {found.expires_at}"
        name = "" if same_name(found.name) == same_name(model.name) else f" as {found.name}"
        return Found(True, f"loaded{name} {stay}")

    return several(models, look, _name)


def _unit(derived: Derived, facts: HostFacts) -> Found:
    if not derived.settings.models.preloaded:
        return Found(None, NONE_PRELOADED)
    for change in (*changes.program(derived, facts), *changes.unit(derived, facts)):
        state = "is not there" if change.before is None else "is not as rendered"
        return Found(False, f"{change.path} {state}", f"{change.path} {state}", DEPLOY)
    state = _found_unit(facts).unit_file_state or "not there"
    if state != "enabled":
        said = f"systemctl is-enabled {changes.UNIT_NAME}: {state}"
        return Found(False, f"the unit is {state}: nothing is loaded after a boot", said, DEPLOY)
    return Found(True, "enabled")


def _found_unit(facts: HostFacts) -> Unit:
    found = facts.units.units.get(changes.UNIT_NAME)
    if found is None:
        raise Unreadable(f"systemd says nothing of {changes.UNIT_NAME}")
    return found


def _ran(derived: Derived, facts: HostFacts) -> Found:
    if not derived.settings.models.preloaded:
        return Found(None, NONE_PRELOADED)
    found = _found_unit(facts)
    if found.active_state in ("activating", "reloading"):
        raise Unreadable(f"{changes.UNIT_NAME} is at work: it still loads models")
    if found.active_state != "active" or found.result != "success":
        said = f"systemctl status {changes.UNIT_NAME}: {found.active_state}, {found.result}"
        journal = f"journalctl -b -u {changes.UNIT_NAME}"
        return Found(False, f"its last run: {found.active_state}, {found.result}", said, journal)
    if found.need_daemon_reload:
        said = f"systemctl show {changes.UNIT_NAME}: NeedDaemonReload=yes"
        return Found(False, "systemd has not read its file", said, "systemctl daemon-reload")
    return Found(True, "its last run was good")
