"""One prompt twice to every loaded model: asked for only when somebody wants it (--active).

What Ollama tells of its prefix cache differs by version: some tell it in the answer, others only
in the runner's log. Both are read. The prompt is as short as it can be where even a model with
hybrid memory keeps something of it (llama-server makes checkpoints from 64 tokens on). It takes a
slot: the user's prompt that lay there goes to the runner's cache in main memory, of which ours
takes next to nothing. With ollama_prompt_cache_mib = 0 there is none: with one slot, the user's
prompt is pushed out and read anew when it comes again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_lowercase

from apuhost.probes import ParseError, files, ollama_final, prefix_cache
from apuhost.probes.asking import ASKING, NO_TEXT
from apuhost.probes.container_commands import DOCKER_TIMEOUT_S
from apuhost.probes.http_reply import body
from apuhost.probes.ollama_api import PLACE
from apuhost.probes.ollama_final import Final
from apuhost.probes.prefix_cache import Task

PROMPT = " ".join(ascii_lowercase * 4)
LEAST_TOKENS = len(PROMPT.split())
"""No tokenizer makes one token of two letters with a blank between them."""

ALL_ANSWERS_S = 15
"""For all models together."""

_LEAST_S = 2
_ALL_S = ALL_ANSWERS_S + 5
TIMEOUT_S = DOCKER_TIMEOUT_S + _ALL_S + 5
_LOG_S = 3
_MOST_LINES_OF_A_LOG = 2000
_MOST_BYTES_OF_A_LOG = 64 * 1024
_OF_A_MODEL = ("loaded", "first", "second", "log")
_OF_A_TASK = "^slot +[^ :]+: id +[0-9]+ [|] task [0-9]+ [|] "

_REPEAT = f"""
{ASKING}
for model in $models; do frame "loaded $model" ""; done
for model in $models; do
  body="{{\\"model\\":\\"$model\\",\\"prompt\\":\\"{PROMPT}\\",\\"stream\\":false"
  body="$body,\\"options\\":{{\\"num_predict\\":1}}}}"
  began=$(date +%s) answers=0 log=
  for time in first second; do
    left=$(({ALL_ANSWERS_S} - SECONDS))
    [ "$left" -ge {_LEAST_S} ] && ask "POST /api/generate" "$body" "$left" || break
    frame "$time $model" "$answer"
    case "$answer" in "HTTP/1."?" 200 "*) ;; *) break ;; esac
    answers=$((answers + 1))
  done
  [ "$answers" -lt 2 ] || log=$(
    timeout {_LOG_S} docker logs --tail {_MOST_LINES_OF_A_LOG} --since "$began" "$3" 2>&1 |
      grep -aE "{_OF_A_TASK}" | cut -b 1-300 | tail -c {_MOST_BYTES_OF_A_LOG})
  frame "log $model" "$log"
done
frame end ""
"""
# 124: timeout ended it (timeout(1)); what came by then counts.
COMMAND = f"""
{PLACE}
timeout {_ALL_S} bash -c '{_REPEAT}' bash "$2" "$1" "$id"
[ "$?" -ne 124 ] || frame end cut
true
"""


@dataclass(frozen=True)
class Repeated:
    """What came of one model: its answers in order, and what its runner logged meanwhile.

    Fewer than two answers: it was at work for others, or no time was left, or there is an
    `error`. `embeds`: it makes no text at all. Others' prompts may be among the `tasks`.
    """

    model: str
    answers: tuple[Final, ...]
    tasks: tuple[Task, ...]
    embeds: bool
    error: str | None


@dataclass(frozen=True)
class Repetition:
    """Every model that was loaded; `error` says why none could be asked."""

    models: tuple[Repeated, ...]
    error: str | None


def parse(text: str) -> Repetition:
    """Read the frames that COMMAND prints.

    Raises:
        ParseError: the frames do not add up, or their end is missing.
    """
    told = {file.path: file.text for file in files.parse_files(text)}
    if "error" in told:
        return Repetition((), told["error"])
    names = (path.partition(" ") for path in told)
    models = dict.fromkeys(name for kind, _, name in names if kind in _OF_A_MODEL)
    if "end" not in told or (told["end"] and not models):
        raise ParseError("the answers end in the middle")
    return Repetition(tuple(_repeated(model, told) for model in models), None)


def _repeated(model: str, told: dict[str, str]) -> Repeated:
    texts = [told[path] for path in (f"first {model}", f"second {model}") if path in told]
    if any(NO_TEXT in text for text in texts):
        return Repeated(model, (), (), embeds=True, error=None)
    tasks = _tasks(told.get(f"log {model}", ""))
    try:
        answers = tuple(_answers(texts))
    except ParseError as problem:
        return Repeated(model, (), tasks, embeds=False, error=str(problem))
    return Repeated(model, answers, tasks, embeds=False, error=None)


def _answers(texts: list[str]) -> Iterator[Final]:
    for text in texts:
        yield ollama_final.parse(body(text))


def _tasks(log: str) -> tuple[Task, ...]:
    """What is no log of a runner's tells nothing."""
    try:
        return tuple(prefix_cache.parse(log).tasks)
    except ParseError:
        return ()
