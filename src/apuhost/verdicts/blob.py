"""models.blob: does another stored tag lie on a model's weights that makes Ollama load them anew?

Ollama holds a blob of weights once, whatever the tag that asked for it: a request for a tag with
other parameters ends the runner that is there, and loads the same weights again (server/sched.go,
needsReload). What neither tag sets, Ollama chooses by itself, which never counts. A tag without a
num_gpu takes the layers that run, whatever the tag that asked for them.
"""

import json
import shlex
from collections.abc import Mapping

from apuhost.changes.blob import FILES, started, weights
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.model_store import StoredModel
from apuhost.settings.models import PinnedModel
from apuhost.verdicts import Found, Layer, Question, Severity, Verdict, judge
from apuhost.verdicts.loaded import each_asked, same_name
from apuhost.verdicts.parameter import DEPLOY
from apuhost.verdicts.several import several


def blob(derived: Derived, facts: HostFacts) -> Verdict:
    """Does every stored tag that shares a model's weights run them as the model does?"""
    expected = "no other tag that reloads a model's weights"
    return judge(
        Question("models.blob", expected, Severity.RECOMMENDED),
        (
            (
                Layer.CONFIGURED,
                lambda: each_asked(derived, lambda model: _shared(model, derived, facts)),
            ),
        ),
    )


def _shared(model: PinnedModel, derived: Derived, facts: HostFacts) -> Found:
    own = facts.model_store.named(model.name)
    if own is None:
        raise Unreadable(f"{model.name} is not in the store (models.pinned)")
    stored = facts.model_store.models
    others = [each for each in stored if each is not own and weights(each) & weights(own)]
    if not others:
        return Found(True, "no other tag has its weights")
    return several(others, lambda other: _alike(own, other, derived), lambda other: other.name)


def _alike(own: StoredModel, other: StoredModel, derived: Derived) -> Found:
    for model in (own, other):
        if not model.whole:
            raise Unreadable(f"{model.path}: its parameters or another blob of it cannot be read")
    ours, theirs = (started(model, derived) for model in (own, other))
    differing = _differing(ours, theirs)
    if differing is None:
        return Found(True, "the same weights, which it does not load anew")
    here, there = _shown(ours[differing]), _shown(theirs[differing])
    words = f"the same weights, {differing} {there} instead of {here}"
    said = f"{other.path} has {min(weights(own) & weights(other))}, {differing} {there}"
    return Found(False, words, said, _fix(other, differing, derived))


def _differing(ours: Mapping[str, object], theirs: Mapping[str, object]) -> str | None:
    """The first name whose value there ends a runner that was started with ours."""
    asked = (name for name, value in theirs.items() if name != "num_gpu" or value is not None)
    return next((name for name in asked if ours[name] != theirs[name]), None)


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(value)) or "none"
    return "not set" if value is None else json.dumps(value)


def _fix(other: StoredModel, differing: str, derived: Derived) -> str:
    """A tag that nobody asked for can go: the weights stay, the model has them."""
    container = derived.settings.ollama.ollama_container_name
    asked = {same_name(model.name) for model in derived.settings.models.models_list}
    remove = f"docker exec {container} ollama rm {shlex.quote(other.name)}"
    if same_name(other.name) not in asked:
        return remove
    if differing in FILES:
        return f"take {other.name} out of models_list, then {remove}"
    return f"write one {differing} for both into models_list, then {DEPLOY}"
