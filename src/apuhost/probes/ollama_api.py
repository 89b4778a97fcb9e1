"""What Ollama answers over HTTP: its version, the models it has, the models in memory.

It is asked on the host itself, at the address that its container publishes. Its TCP port is open
before it serves: until it has looked for GPUs there is no answer at all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from apuhost.probes import ParseError, files
from apuhost.probes.container_commands import CONTAINER, DOCKER_TIMEOUT_S
from apuhost.probes.http_reply import body
from apuhost.probes.json_values import load_object, member, objects
from apuhost.probes.ollama_ps import lasts_for_good

Value = TypeVar("Value")

PORT = 11434
ANSWER_TIMEOUT_S = 8
_MOST_BYTES = 4 * 1024 * 1024

VERSION, TAGS, PS = "/api/version", "/api/tags", "/api/ps"

# `.Id` makes the client take docker's answer as it is: see containers.py.
_INSPECTED = (
    "{{.Id}} {{.State.Status}} {{.HostConfig.NetworkMode}}\n"
    '{{range $port, $hosts := index .NetworkSettings "Ports"}}'
    "{{range $hosts}}{{$port}} {{.HostPort}} {{.HostIp}}\n{{end}}{{end}}"
    '{{range index .Config "Env"}}env {{json .}}\n{{end}}'
)
# Neither curl nor python3 need be there: bash opens the connection. HTTP/1.0 asks for no chunks
# and for no connection that stays open. A variable of bash's cannot hold NUL, JSON has none.
_ASK = f"""
{{
  printf "GET %s HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n" "$3" >&4
  answer=$(timeout {ANSWER_TIMEOUT_S} head -c {_MOST_BYTES} <&4; echo x)
}} 4<>"/dev/tcp/$1/$2" || exit
answer=${{answer%x}}
printf "==> %d %s\\n%s\\n" "${{#answer}}" "$3" "$answer"
[ -n "$answer" ]
"""
PLACE = f"""
{CONTAINER}
frame() {{ printf '==> %d %s\\n%s\\n' "${{#2}}" "$1" "$2"; }}
refuse() {{ frame error "$1"; exit 0; }}
set -f
id=$(ollama_container) || refuse 'docker does not answer'
[ -n "$id" ] || refuse 'no container runs Ollama'
place=$(timeout {DOCKER_TIMEOUT_S} docker inspect --type container --format '{_INSPECTED}' "$id") ||
  refuse 'docker does not answer'
set -- $(printf '%s\\n' "$place" | head -n 1)
[ "$2" = running ] || refuse "its container is $2"
if [ "$3" = host ]; then
  place=$(printf '%s\\n' "$place" | sed -nE \\
    's~^env "OLLAMA_HOST=([a-z]+://)?\\[?([^]/"]+)\\]?:([0-9]+)[/"].*~\\3 \\2~p')
  place=${{place:-{PORT} 127.0.0.1}}
else
  place=$(printf '%s\\n' "$place" | awk '
    $1 == "{PORT}/tcp" {{ print $2, $3; found = 1; exit }}
    $1 ~ /\\/tcp$/ && !other {{ other = $2 " " $3 }}
    END {{ if (!found) print other }}')
fi
set -- $place
[ -n "$1" ] || refuse 'its container publishes no port'
case "$2" in
  0.0.0.0 | '') set -- "$1" 127.0.0.1 ;;
  ::) set -- "$1" ::1 ;;
esac
case "$2" in
  *:*) frame address "[$2]:$1" ;;
  *) frame address "$2:$1" ;;
esac
"""
"""sh text that frames the API's `address`, and leaves its port in $1 and its host in $2; where
there is none, it frames the `error` and ends the program.
"""

_PATHS = (VERSION, TAGS, PS)
_PATH_S = ANSWER_TIMEOUT_S + 2
TIMEOUT_S = DOCKER_TIMEOUT_S + len(_PATHS) * _PATH_S + 5
COMMAND = f"""
{PLACE}
for path in {" ".join(_PATHS)}; do
  timeout {_PATH_S} bash -c '{_ASK}' bash "$2" "$1" "$path" || break
done
true
"""


@dataclass(frozen=True)
class ListedModel:
    """A model in the store: the SHA-256 of its manifest, the bytes of all its blobs."""

    name: str
    digest: str
    size: int


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory: bytes in all and on the GPU; tokens of context that one slot has.

    `context_length` is None before 0.10.0. `size_vram` is less than `size` when the CPU has a part.
    """

    name: str
    digest: str
    size: int
    size_vram: int
    expires_at: str
    context_length: int | None

    def keeps(self, now: datetime) -> bool:
        """Whether it stays for good, seen from a time with a time zone."""
        return lasts_for_good(self.expires_at, now) is True


@dataclass(frozen=True)
class OllamaApi:
    """What was asked (HOST:PORT; None: nothing to ask) and what came back.

    `answered`: it told its version. What it did not answer, or not readably, is None, and
    `error` says the first reason.
    """

    address: str | None
    answered: bool
    version: str | None
    models: tuple[ListedModel, ...] | None
    loaded: tuple[LoadedModel, ...] | None
    error: str | None


def parse(text: str) -> OllamaApi:
    """Read the framed answers that COMMAND prints.

    Raises:
        ParseError: the frames do not add up, or there is none.
    """
    answers = {file.path: file.text for file in files.parse_files(text)}
    if "error" in answers:
        return OllamaApi(None, False, None, None, None, answers["error"])
    if "address" not in answers:
        raise ParseError("neither an address nor a reason: the output was cut")
    version = _answer(answers, VERSION, _version)
    models = _answer(answers, TAGS, _models)
    loaded = _answer(answers, PS, _loaded)
    errors = [found for found in (version, models, loaded) if isinstance(found, ParseError)]
    return OllamaApi(
        address=answers["address"],
        answered=isinstance(version, str),
        version=_known(version),
        models=_known(models),
        loaded=_known(loaded),
        error=str(errors[0]) if errors else None,
    )


def _answer(
    answers: Mapping[str, str], path: str, read: Callable[[Mapping[str, Any]], Value]
) -> Value | ParseError:
    try:
        return read(load_object(body(answers.get(path, ""))))
    except ParseError as error:
        return ParseError(f"GET {path}: {error}")


def _known(found: Value | ParseError) -> Value | None:
    return None if isinstance(found, ParseError) else found


def _version(answer: Mapping[str, Any]) -> str:
    version = member(answer, "version", "")
    if not version:
        raise ParseError("no version in it")
    return version


def _models(answer: Mapping[str, Any]) -> tuple[ListedModel, ...]:
    return tuple(
        ListedModel(
            member(model, "name", ""), member(model, "digest", ""), member(model, "size", 0)
        )
        for model in _listed(answer)
    )


def _listed(answer: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    if "models" not in answer:
        raise ParseError("no models in it")
    return objects(answer, "models")


def _loaded(answer: Mapping[str, Any]) -> tuple[LoadedModel, ...]:
    return tuple(
        LoadedModel(
            name=member(model, "name", ""),
            digest=member(model, "digest", ""),
            size=member(model, "size", 0),
            size_vram=member(model, "size_vram", 0),
            expires_at=member(model, "expires_at", ""),
            context_length=member(model, "context_length", 0) or None,
        )
        for model in _listed(answer)
    )
