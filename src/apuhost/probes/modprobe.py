"""modprobe.d: the options and blacklists that modprobe reads, and taking options out.

Rules: modprobe.d(5) and kmod's freadline_wrapped(): a backslash joins the next line, any other
backslash is dropped; `-` and `_` are equal in module names; of files with one name the one in
the first folder counts, and all are read in the order of their names. A CR before a line end is
not taken for a part of a value.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from apuhost.probes import ParseError, cmdline, files
from apuhost.probes.cmdline import canonical
from apuhost.probes.files import TextFile

_FOLDERS = (  # the first one that has a name wins it
    "/etc/modprobe.d",
    "/run/modprobe.d",
    "/usr/local/lib/modprobe.d",
    "/usr/lib/modprobe.d",
)
_UNMERGED = "/lib/modprobe.d"  # the same folder as /usr/lib/modprobe.d on a merged /usr

COMMAND = (
    files.command(*(f"{folder}/*.conf" for folder in _FOLDERS))
    + f"; if ! [ {_UNMERGED} -ef /usr{_UNMERGED} ]; then "
    + files.command(f"{_UNMERGED}/*.conf")
    + "; fi"
)

_BLANKS = re.compile(r"[ \t]+")
_OPTIONS_HEAD = re.compile(r"[ \t]*options[ \t]+([^ \t]+)")
_LONGEST = 1_048_576  # characters of a file; the longest known ones have a tenth of it
_NEVER_LOADED = re.compile(r"(?:(?:/usr)?/bin/)?(?:false|true)")


@dataclass(frozen=True)
class Option:
    """One module option; `value` is None for a bare flag."""

    path: str
    module: str
    parameter: str
    value: str | None


@dataclass(frozen=True)
class Blacklisted:
    """A module that is not loaded for its devices, and the file that says so."""

    path: str
    module: str


@dataclass(frozen=True)
class Modprobe:
    """The files that count, in the order modprobe reads them, and what they say.

    Module names are spelt with `_`, as the kernel does; parameters as they are written.
    """

    files: tuple[TextFile, ...]
    options: tuple[Option, ...]
    blacklisted: tuple[Blacklisted, ...]


@dataclass(frozen=True)
class _Line:
    """One logical line: its characters after joining, and where each of them comes from."""

    text: str
    start: int
    end: int
    places: tuple[tuple[int, int], ...]


def parse(text: str) -> Modprobe:
    """Read the framed files that COMMAND prints.

    Raises:
        ParseError: the frames do not add up, or a file is far longer than one of modprobe's.
    """
    counting = _winners(files.parse_files(text))
    for file in counting:
        if len(file.text) > _LONGEST:
            raise ParseError(f"{file.path} has more than {_LONGEST} characters")
    return Modprobe(
        counting,
        tuple(option for file in counting for option in _options(file)),
        tuple(module for file in counting for module in _blacklisted(file)),
    )


def without(text: str, parameters: frozenset[tuple[str, str]]) -> str:
    """Return the file less these (module, parameter) options.

    An options line that keeps none goes entirely; every other byte stays.
    """
    kept = []
    position = 0
    for start, end in _removals(text, parameters):
        kept.append(text[position:start])
        position = end
    return "".join(kept) + text[position:]


def _winners(found: Iterable[TextFile]) -> tuple[TextFile, ...]:
    by_name = sorted(found, key=lambda file: (_name(file.path), _rank(file.path)))
    return tuple(next(same) for _, same in groupby(by_name, lambda file: _name(file.path)))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _rank(path: str) -> int:
    folder = path.rpartition("/")[0]
    return _FOLDERS.index(folder) if folder in _FOLDERS else len(_FOLDERS)


def _options(file: TextFile) -> Iterator[Option]:
    for line in _lines(file.text):
        if head := _OPTIONS_HEAD.match(line.text):
            for argument in cmdline.read(line.text[head.end() :]).arguments:
                yield Option(file.path, canonical(head[1]), argument.key, argument.value)


def _blacklisted(file: TextFile) -> Iterator[Blacklisted]:
    for line in _lines(file.text):
        match _words(line.text):
            case ["blacklist", module, *_]:
                yield Blacklisted(file.path, canonical(module))
            case ["install", module, command, *_] if _NEVER_LOADED.fullmatch(command):
                yield Blacklisted(file.path, canonical(module))


def _words(line: str) -> list[str]:
    return _BLANKS.split(line.strip(" \t"))


def _removals(text: str, parameters: frozenset[tuple[str, str]]) -> Iterator[tuple[int, int]]:
    for line in _lines(text):
        if head := _OPTIONS_HEAD.match(line.text):
            module = canonical(head[1])
            keys = {key for name, key in parameters if canonical(name) == module}
            yield from _line_removals(line, head.end(), keys)


def _line_removals(line: _Line, start: int, keys: set[str]) -> Iterator[tuple[int, int]]:
    options = line.text[start:]
    spans = list(cmdline.removals(options, keys))
    if spans and not cmdline.without(options, keys).strip():
        yield line.start, line.end
    else:
        for first, last in spans:
            yield from line.places[start + first : start + last]


def _lines(text: str) -> Iterator[_Line]:
    position = 0
    while position < len(text):
        line = _line(text, position)
        yield line
        position = line.end


def _line(text: str, start: int) -> _Line:
    characters = []
    places = []
    position = start
    while position < len(text) and text[position] != "\n":
        escaped = text[position] == "\\"
        end = min(position + 1 + escaped, len(text))
        if not escaped or (end == position + 2 and text[position + 1] != "\n"):
            characters.append(text[end - 1])
            places.append((position, end))
        position = end
    if characters and characters[-1] == "\r":
        characters, places = characters[:-1], places[:-1]
    end = min(position + 1, len(text))
    return _Line("".join(characters), start, end, tuple(places))
