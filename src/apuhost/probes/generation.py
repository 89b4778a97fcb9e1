"""One token of every loaded model: asked for only when somebody wants it (--active).

A model with all its slots in use answers when they are done, which may take minutes: that is no
fault, as long as the API itself answers. No option is sent that would load a model anew, and no
keep_alive; the request takes a slot's context, as any request does.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from apuhost.probes import ParseError, files
from apuhost.probes.asking import API_ANSWER_S, ASKING, NO_TEXT
from apuhost.probes.container_commands import DOCKER_TIMEOUT_S
from apuhost.probes.http_reply import body
from apuhost.probes.json_values import load_object, member
from apuhost.probes.ollama_api import PLACE, VERSION

ALL_ANSWERS_S = 20
"""For all models together; some time is left to ask the API again."""

_LEAST_S = 3
_ALL_S = ALL_ANSWERS_S + 8
TIMEOUT_S = DOCKER_TIMEOUT_S + _ALL_S + 5

_GENERATE = f"""
{ASKING}
for model in $models; do
  left=$(({ALL_ANSWERS_S} - SECONDS))
  [ "$left" -ge {_LEAST_S} ] || {{ frame "unasked $model" ""; continue; }}
  body="{{\\"model\\":\\"$model\\",\\"prompt\\":\\"Say yes.\\",\\"stream\\":false"
  body="$body,\\"options\\":{{\\"num_predict\\":1}}}}"
  if ask "POST /api/generate" "$body" "$left"; then frame "reply $model" "$answer"
  elif ask "GET {VERSION}" "" {API_ANSWER_S}; then frame "busy $model" ""
  else frame "silent $model" ""
  fi
done
frame end ""
"""
COMMAND = f"""
{PLACE}
timeout {_ALL_S} bash -c '{_GENERATE}' bash "$2" "$1"
true
"""


@dataclass(frozen=True)
class Generated:
    """What came of one model: a number of tokens; or `busy`, or an `error`.

    `busy`: no answer in time, while the API answers. `embeds`: it makes no text at all.
    """

    model: str
    tokens: int | None
    busy: bool
    embeds: bool
    error: str | None


@dataclass(frozen=True)
class Generation:
    """Every model that was loaded; `error` says why none could be asked."""

    models: tuple[Generated, ...]
    error: str | None


def parse(text: str) -> Generation:
    """Read the frames that COMMAND prints.

    Raises:
        ParseError: the frames do not add up, or their end is missing.
    """
    found = [(file.path, file.text) for file in files.parse_files(text)]
    told = dict(found)
    if "error" in told:
        return Generation((), told["error"])
    if "end" not in told:
        raise ParseError("the answers end in the middle")
    return Generation(tuple(_models(found)), None)


def _models(found: list[tuple[str, str]]) -> Iterator[Generated]:
    for path, text in found:
        match path.split(" ", 1):
            case ["reply", model]:
                yield _generated(model, text)
            case ["busy", model]:
                yield Generated(model, None, busy=True, embeds=False, error=None)
            case ["unasked", model]:
                yield Generated(model, None, busy=True, embeds=False, error="no time was left")
            case ["silent", model]:
                error = "neither a token nor its version"
                yield Generated(model, None, busy=False, embeds=False, error=error)


def _generated(model: str, text: str) -> Generated:
    if NO_TEXT in text:
        return Generated(model, None, busy=False, embeds=True, error=None)
    try:
        answer = load_object(body(text))
        tokens, error = member(answer, "eval_count", 0), member(answer, "error", "")
    except ParseError as problem:
        tokens, error = 0, str(problem)
    return Generated(model, tokens or None, busy=False, embeds=False, error=error or None)
