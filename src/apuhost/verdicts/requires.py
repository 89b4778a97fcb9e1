"""models.requires: is Ollama new enough for every model of models_list?

A model says in its configuration which version it needs. Ollama looks at that when it pulls one
(server/images.go) and never again: a copied model, or an older image, gets past it. A tag that
nobody asked for is no fault of the host's.
"""

from apuhost.changes.offer import is_release, newer
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.settings.models import PinnedModel
from apuhost.verdicts import Found, Layer, Question, Verdict, judge
from apuhost.verdicts.loaded import each_asked
from apuhost.verdicts.parameter import DEPLOY


def requires(derived: Derived, facts: HostFacts) -> Verdict:
    """Is the pinned image, and the server that answers, new enough for every asked model?"""

    def pinned(model: PinnedModel) -> Found:
        return _pinned(model, derived, facts)

    return judge(
        Question("models.requires", "an Ollama that is new enough for every model of models_list"),
        (
            (Layer.CONFIGURED, lambda: each_asked(derived, pinned)),
            (Layer.EFFECTIVE, lambda: each_asked(derived, lambda model: _running(model, facts))),
        ),
    )


def _pinned(model: PinnedModel, derived: Derived, facts: HostFacts) -> Found:
    needed, version = _needed(model, facts), derived.settings.ollama.version
    if newer(needed, version):
        words = f"it needs Ollama {needed}, ollama_image is {version}"
        return Found(False, words, _said(model, facts), f"an ollama_image of {needed} or later")
    return Found(True, f"ollama_image is {version}")


def _running(model: PinnedModel, facts: HostFacts) -> Found:
    needed, version = _needed(model, facts), facts.ollama_api.version
    if not needed:
        return Found(True, "needs no certain Ollama")
    if version is None:
        raise Unreadable(f"Ollama does not tell its version: {facts.ollama_api.error}")
    if not is_release(version):
        raise Unreadable(f"a build of Ollama that tells no version ({version})")
    if newer(needed, version):
        words = f"it needs Ollama {needed}, {version} answers"
        return Found(False, words, _said(model, facts), DEPLOY)
    return Found(True, f"needs Ollama {needed}, {version} answers")


def _needed(model: PinnedModel, facts: HostFacts) -> str:
    stored = facts.model_store.named(model.name)
    if stored is None:
        raise Unreadable(f"{model.name} is not in the store (models.pinned)")
    if stored.requires is None:
        raise Unreadable(f"the configuration of {model.name} cannot be read")
    return stored.requires


def _said(model: PinnedModel, facts: HostFacts) -> str:
    stored = facts.model_store.named(model.name)
    return f'{stored.config.blob}: "requires":"{stored.requires}"' if stored else ""
