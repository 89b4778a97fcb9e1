"""One token of every loaded model: asked for only when somebody wants it (--active).

A model with all its slots in use answers when they are done, which may take minutes: that is no
fault, as long as the API itself answers. No option is sent that would load a model anew, and no
keep_alive; the request takes a slot's context, as any request does.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from apuhost.probes import ParseError, files
from apuhost.probes.http_reply import body
from apuhost.probes.json_values import load_object, member
from apuhost.probes.ollama_api import PLACE, PS, VERSION

ALL_ANSWERS_S = 20
"""For all models together; within the time of one probe, with some left to ask the API again."""

_LEAST_S = 3
_API_ANSWER_S = 4
_MOST_BYTES = 256 * 1024
_NO_TEXT = "does not support generate"
"""Ollama's words for a model that only embeds."""

# bash, as in ollama_api.py. Names are quoted in JSON and by blanks here, so they are plain ones.
_GENERATE = f"""
host=$1 port=$2
frame() {{ printf "==> %d %s\\n%s\\n" "${{#2}}" "$1" "$2"; }}
ask() {{
  answer=
  {{
    printf "%s HTTP/1.0\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n" "$1" >&4
    printf "Content-Length: %d\\r\\n\\r\\n%s" "${{#2}}" "$2" >&4
    answer=$(timeout "$3" head -c {_MOST_BYTES} <&4; echo x)
  }} 4<>"/dev/tcp/$host/$port" || return
  answer=${{answer%x}}
  [ -n "$answer" ]
}}
refuse() {{ frame error "$1"; exit 0; }}
ask "GET {PS}" "" {_API_ANSWER_S} || refuse "the API does not answer"
case "$answer" in "HTTP/1."?" 200 "*) ;; *) refuse "GET {PS}: no list of models" ;; esac
models=$(printf "%s" "$answer" | tr -d "\\n" | grep -o "\\"name\\": *\\"[A-Za-z0-9._:/-]*\\"" |
  cut -d "\\"" -f 4)
for model in $models; do
  left=$(({ALL_ANSWERS_S} - SECONDS))
  [ "$left" -ge {_LEAST_S} ] || {{ frame "unasked $model" ""; continue; }}
  body="{{\\"model\\":\\"$model\\",\\"prompt\\":\\"Say yes.\\",\\"stream\\":false"
  body="$body,\\"options\\":{{\\"num_predict\\":1}}}}"
  if ask "POST /api/generate" "$body" "$left"; then frame "reply $model" "$answer"
  elif ask "GET {VERSION}" "" {_API_ANSWER_S}; then frame "busy $model" ""
  else frame "silent $model" ""
  fi
done
frame end ""
"""
COMMAND = f"""
{PLACE}
timeout {ALL_ANSWERS_S + 8} bash -c '{_GENERATE}' bash "$2" "$1"
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
    if _NO_TEXT in text:
        return Generated(model, None, busy=False, embeds=True, error=None)
    try:
        answer = load_object(body(text))
        tokens, error = member(answer, "eval_count", 0), member(answer, "error", "")
    except ParseError as problem:
        tokens, error = 0, str(problem)
    return Generated(model, tokens or None, busy=False, embeds=False, error=error or None)
