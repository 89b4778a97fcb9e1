"""models.generation: does every loaded model generate a token? Judged only where that was asked."""

from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.generation import Generated
from apuhost.verdicts import Found, Layer, Question, Verdict, judge
from apuhost.verdicts.container import LOGS
from apuhost.verdicts.several import several

READING = "generation"


def generation(derived: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """The verdict, where the hosts were asked for a token; else none."""
    if READING not in facts.readings:
        return ()
    return (
        judge(
            Question("models.generation", "a token of every loaded model"),
            ((Layer.EFFECTIVE, lambda: _generated(derived, facts)),),
        ),
    )


def _generated(derived: Derived, facts: HostFacts) -> Found:
    found = facts.generation
    if found.error:
        raise Unreadable(f"generation: {found.error}")
    asked = [model for model in found.models if not model.embeds]
    if not asked:
        return Found(None, "no model that makes text is loaded")
    log = f"{LOGS} {derived.settings.ollama.ollama_container_name}"
    return several(asked, lambda model: _token(model, log), lambda model: model.model)


def _token(model: Generated, log: str) -> Found:
    if model.busy:
        raise Unreadable(f"busy: {model.model} was at work for others")
    if model.tokens is None:
        said = f"POST /api/generate: {model.error or 'an answer without a token'}"
        return Found(False, "it generates nothing", said, log)
    return Found(True, f"{model.tokens} token{'s' if model.tokens != 1 else ''} generated")
