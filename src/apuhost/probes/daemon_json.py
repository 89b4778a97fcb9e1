"""dockerd's settings: /etc/docker/daemon.json, and the drop-ins of its unit.

dockerd does not start with a daemon.json that is no JSON. It takes a key that stands twice without
a word, and so does this reader: of equal keys the last counts, and the members of two objects come
together (moby's daemon/config/config.go, getConflictFreeConfiguration, looks for unknown keys and
for flags that repeat a key, and leaves the text to Go's encoding/json, which decodes the second
value into the place of the first). A missing or empty file sets nothing.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apuhost.probes import ParseError, files
from apuhost.probes.files import TextFile

PATH = "/etc/docker/daemon.json"
DROP_INS = "/etc/systemd/system/docker.service.d"
_KIND = "kind"
COMMAND = f"""
if [ -e {PATH} ] && ! [ -f {PATH} ]; then
  kind=$(stat -L -c %F {PATH})
  printf '==> %d {_KIND}\\n%s\\n' "${{#kind}}" "$kind"
fi
""" + files.command(PATH, f"{DROP_INS}/*.conf")

_MIRRORS, _INSECURE = "registry-mirrors", "insecure-registries"
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:]|-?(?:Infinity|[0-9][0-9.eE+-]*)|NaN')
_INDENT = re.compile(r'^([ \t]+)"', re.MULTILINE)
_DEFAULT_INDENT = "  "
_BLANKS = " \t\r\n"
_BYTE_ORDER_MARK = "\ufeff"
_DEEPEST = 32  # daemon.json needs four


@dataclass(frozen=True)
class JsonError:
    """What is wrong, and where; lines and columns count from 1, columns in characters."""

    line: int
    column: int
    message: str


@dataclass(frozen=True)
class DaemonJson:
    """The settings of a daemon.json; none of them when it is not valid.

    Registries are as written: dockerd adds a slash to a mirror's address.
    """

    valid: bool
    error: JsonError | None
    values: Mapping[str, Any]
    registry_mirrors: tuple[str, ...]
    insecure_registries: tuple[str, ...]


@dataclass(frozen=True)
class DockerFiles:
    """daemon.json as it is (None: there is none), and the drop-ins of docker.service.

    `in_its_place` is what has daemon.json's name and is no file, such as "directory".
    """

    daemon_json: str | None
    drop_ins: tuple[TextFile, ...]
    in_its_place: str = ""


def parse(text: str) -> DaemonJson:
    """Read the text of one daemon.json; a broken one gives its error instead of settings."""
    if text.startswith(_BYTE_ORDER_MARK):
        return _invalid(JsonError(1, 1, "a byte order mark"))
    try:
        values = json.loads(text, object_pairs_hook=_object) if text.strip(_BLANKS) else {}
    except json.JSONDecodeError as error:
        return _invalid(JsonError(error.lineno, error.colno, error.msg))
    except (RecursionError, ValueError):  # a number of more than 4300 digits
        return _invalid(JsonError(1, 1, "nested too deeply, or a number that is too long"))
    for offset, message in _faults(text, values):
        return _invalid(_error_at(text, offset, message))
    return DaemonJson(
        True, None, values, tuple(values.get(_MIRRORS, ())), tuple(values.get(_INSECURE, ()))
    )


def parse_files_of(text: str) -> DockerFiles:
    """Read the framed files that COMMAND prints.

    Raises:
        ParseError: the frames do not add up.
    """
    found = files.parse_files(text)
    told = {file.path: file.text for file in found}
    drop_ins = tuple(file for file in found if file.path not in (PATH, _KIND))
    return DockerFiles(told.get(PATH), drop_ins, told.get(_KIND, ""))


def merged(text: str | None, ours: Mapping[str, Any], path: str = PATH) -> str:
    """Return the file with our settings in it; the operator's own keys and their order stay.

    An object in `ours`, such as log-opts, only sets its own members. The same text comes back
    when nothing changes; else the file's indent and line ends are kept.

    Raises:
        ParseError: the file is not valid.
    """
    before = text or ""
    read = parse(before)
    if read.error is not None:
        place = f"{path}:{read.error.line}:{read.error.column}"
        raise ParseError(f"{place}: {read.error.message}: correct the file, or remove it")
    values = {**read.values, **{key: _set(read.values.get(key), ours[key]) for key in ours}}
    if json.dumps(values) == json.dumps(read.values) and before.strip(_BLANKS):
        return before
    indent = _INDENT.search(before)
    lines = json.dumps(values, indent=indent[1] if indent else _DEFAULT_INDENT, ensure_ascii=False)
    return (lines + "\n").replace("\n", "\r\n" if "\r\n" in before else "\n")


def _object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        members[key] = _set(members.get(key), value)
    return members


def _set(theirs: object, ours: object) -> object:
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        return {**theirs, **ours}
    return ours


def _invalid(error: JsonError) -> DaemonJson:
    return DaemonJson(False, error, {}, (), ())


def _error_at(text: str, offset: int, message: str) -> JsonError:
    line = text.count("\n", 0, offset) + 1
    return JsonError(line, offset - text.rfind("\n", 0, offset), message)


def _faults(text: str, values: object) -> Iterator[tuple[int, str]]:
    """What json.loads lets through and dockerd does not, or not as it was meant."""
    if not isinstance(values, dict):
        yield len(text) - len(text.lstrip(_BLANKS)), "no JSON object"
        return
    depth, offset, string = 0, 0, ""
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{" | "[":
                depth += 1
                if depth > _DEEPEST:
                    yield token.start(), "nested too deeply"
            case "}" | "]":
                depth -= 1
            case ":":
                if depth == 1 and string in (_MIRRORS, _INSECURE) and not _texts(values[string]):
                    yield offset, f"{string} is no list of strings"
            case "NaN" | "Infinity" | "-Infinity":
                yield token.start(), f"{token[0]} is no JSON"
            case number if number[0] in "-0123456789":
                if not math.isfinite(float(number)):
                    yield token.start(), "a number that is too large"
            case _:
                offset, string = token.start(), json.loads(token[0])
                if not _encodable(string):
                    yield offset, "half a character in a string"


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
