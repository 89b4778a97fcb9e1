"""ollama.prefix_cache: is a prompt that was just read not read again? Judged where it was asked.

How Ollama tells it (server/routes.go, llm/llama_server.go): since 0.33.3 the answer has the cached
tokens; before, its count is of the whole prompt, cached or not, but in 0.30.0 and before 0.4, where
it leaves them out. llama-server's log tells it since 0.30, and why a prompt was read again.
"""

from dataclasses import dataclass

from apuhost.changes.offer import is_release, newer
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.prefix_cache import Task
from apuhost.probes.repetition import LEAST_TOKENS, Repeated
from apuhost.verdicts import Found, Layer, Question, Severity, Verdict, judge
from apuhost.verdicts.container import LOGS
from apuhost.verdicts.several import several

READING = "repetition"
TELLING = "0.30.0"
"""From here on an answer or the log tells what came from the cache."""

FORCED = (
    "its memory (hybrid, recurrent or of a sliding window) keeps no state to go on from: "
    "such a prompt is read whole (llama.cpp#20153)"
)


@dataclass(frozen=True)
class Reuse:
    """Tokens of the second prompt that came from the cache, and which witness says so."""

    cached: int
    prompt: int
    said: str

    @property
    def holds(self) -> bool:
        """All but the last tokens can be reused; half of them is no accident."""
        return 2 * self.cached >= self.prompt

    @property
    def words(self) -> str:
        """`103 of 104 tokens from the cache`."""
        return f"{self.cached} of {self.prompt} tokens from the cache"


@dataclass(frozen=True)
class Pair:
    """The log's last two tasks whose prompt is as long as ours."""

    first: Task
    second: Task
    neighbours: bool

    @property
    def shows_it(self) -> bool:
        """Whether they can be ours, and both were read anew.

        Another runner's lines may lie before ours: a runner counts its tasks upwards, and what it
        took from its cache for the first of two it has for the second.
        """
        in_order = (self.first.task or 0) < (self.second.task or 0)
        return self.neighbours and in_order and all(map(_anew, (self.first, self.second)))


def prefix_cache(derived: Derived, facts: HostFacts) -> tuple[Verdict, ...]:
    """The verdict, where the hosts were asked for it; else none."""
    if READING not in facts.readings:
        return ()
    expected = "a prompt that was just read is not read again"
    return (
        judge(
            Question("ollama.prefix_cache", expected, Severity.RECOMMENDED),
            ((Layer.EFFECTIVE, lambda: _asked(derived, facts)),),
        ),
    )


def _asked(derived: Derived, facts: HostFacts) -> Found:
    found = facts.repetition
    if found.error:
        raise Unreadable(f"repetition: {found.error}")
    models = [model for model in found.models if not model.embeds]
    if not models:
        return Found(None, "no model that makes text is loaded")
    version = facts.ollama_api.version or ""
    log = f"{LOGS} {derived.settings.ollama.ollama_container_name}"
    return several(models, lambda model: _reused(model, version, log), lambda model: model.model)


def _reused(model: Repeated, version: str, log: str) -> Found:
    if len(model.answers) < 2:  # noqa: PLR2004  (the same prompt twice)
        why = model.error or "busy, or too slow: no two answers in time"
        raise Unreadable(f"{model.model}: {why}")
    pair = _pair(model)
    reuse = _by_answer(model, version) or _by_log(pair)
    if reuse is None:
        return _untold(model, version)
    if reuse.holds:
        return Found(True, reuse.words)
    if pair and pair.second.forced_full:
        return Found(None, f"{model.model}: {FORCED}")
    if pair and pair.shows_it:
        return Found(False, reuse.words, reuse.said, log)
    why = "others asked in between, or the log does not show both prompts read anew"
    raise Unreadable(f"{model.model}: {reuse.words}; {why}")


def _by_answer(model: Repeated, version: str) -> Reuse | None:
    first, second = model.answers[:2]
    if second.cached_tokens is not None and second.prompt_tokens:
        said = f"POST /api/generate: prompt_eval_cached_count {second.cached_tokens}"
        return Reuse(second.cached_tokens, second.prompt_tokens, said)
    if _leaves_out_cached(version) and first.prompt_tokens:
        prompt = max(first.prompt_tokens, LEAST_TOKENS)
        read = second.prompt_tokens or 0
        return Reuse(prompt - read, prompt, f"POST /api/generate: prompt_eval_count {read}")
    return None


def _leaves_out_cached(version: str) -> bool:
    """Whether prompt_eval_count is of the tokens alone that were read anew (ollama#16414)."""
    return version == "0.30.0" or (is_release(version) and newer("0.4.0", version))


def _by_log(pair: Pair | None) -> Reuse | None:
    return _taken(pair.second) if pair else None


def _taken(task: Task) -> Reuse | None:
    if task.cached_tokens is None or not task.prompt_tokens:
        return None
    said = f"task {task.task}: cached n_tokens = {task.cached_tokens}"
    return Reuse(task.cached_tokens, task.prompt_tokens, said)


def _anew(task: Task) -> bool:
    reuse = _taken(task)
    return reuse is not None and not reuse.holds


def _pair(model: Repeated) -> Pair | None:
    asked = model.answers[1].prompt_tokens
    places = [n for n, task in enumerate(model.tasks) if asked and task.prompt_tokens == asked]
    if len(places) < 2:  # noqa: PLR2004  (the same prompt twice)
        return None
    first, second = places[-2:]
    return Pair(model.tasks[first], model.tasks[second], neighbours=second == first + 1)


def _untold(model: Repeated, version: str) -> Found:
    if newer(TELLING, version) and not newer("0.4.0", version):
        told = f"Ollama {version} does not tell what came from its cache"
        return Found(None, f"{told}: {TELLING} and later do")
    raise Unreadable(f"{model.model}: neither its answer nor the log tells what was cached")
