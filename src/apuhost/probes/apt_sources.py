"""Where apt takes packages from: sources.list(5) in both of its forms, and adding a component.

In the one-line form a `#` ends the line unless it stands in brackets, and a word may hold
blanks in brackets or double quotes (apt's ParseQuoteWord). In the deb822 form a line that
begins with a blank goes on with the field before it, and a line that begins with `#` is not
there. apt passes over files whose names hold other characters than letters, digits, `_-.`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from apuhost.probes import files
from apuhost.probes.files import TextFile

_FOLDER = "/etc/apt/sources.list.d"
_MIRRORS = "/etc/apt/mirrors"
_FRAME = "==> "

TIMEOUT_S = 90
"""apt makes its cache anew whenever dpkg's status or a list changed: on a slow machine a minute."""

# A candidate is what apt would install from the lists that it has; nothing is fetched. Of what is
# installed already nobody asks, and apt takes longer to tell than all other probes together.
_CANDIDATE = """status=$(dpkg-query -W -f '${db:Status-Abbrev}' firmware-amd-graphics 2>/dev/null)
case "$status" in
  ?i' ') ;;
  *) LC_ALL=C apt-cache policy firmware-amd-graphics |
    awk '/^[^ ].*:$/ { name = substr($0, 1, length($0) - 1) }
      /^  Candidate: [^(]/ { print "candidate", name, $2 }' ;;
esac
"""
COMMAND = _CANDIDATE + files.command(
    "/etc/apt/sources.list",
    f"{_FOLDER}/*.list",
    f"{_FOLDER}/*.sources",
    f"{_MIRRORS}/*",
    "/etc/apt/keyrings/apuhost-*.asc",
)

_COUNTS = re.compile(rf"(?:/etc/apt/sources\.list|{re.escape(_FOLDER)}/[A-Za-z0-9_.-]+)")
_MIRROR_LIST = re.compile(r"mirror\+file:(?://)?(/.*)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(r"[^ \t\r\n\v\f]+")
_QUOTING_WORD = re.compile(r'(?:\[[^\]\n]*\]|"[^"\n]*"|[^ \t\r\n\v\f#\["])+')
_BLANKS = re.compile(r"[ \t\r\n\v\f]*")
_FIELD = re.compile(r"([^\s:#][^\s:]*)[ \t]*:")
NO = frozenset({"no", "false", "without", "off", "disable", "0"})
"""Words that apt takes for no (StringToBool)."""


@dataclass(frozen=True)
class Source:
    """One entry: a line of the one-line form, or a stanza of the deb822 form.

    `signed_by` is as written: a path, a fingerprint, or a whole key.
    """

    path: str
    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    enabled: bool
    types: tuple[str, ...]
    signed_by: str | None

    @property
    def flat(self) -> bool:
        """Whether it names folders instead of suites: those have no components."""
        return any(suite.endswith("/") for suite in self.suites)


@dataclass(frozen=True)
class AptSources:
    """Every entry that apt reads, every file as it is, and the versions that apt would install.

    Candidates are of packages that are not installed. The files are those of sources, lists of
    mirrors in /etc/apt/mirrors, and keys of ours.
    """

    sources: tuple[Source, ...]
    files: tuple[TextFile, ...]
    candidates: Mapping[str, str]

    def has_component(self, component: str) -> bool:
        """Whether an enabled source of binary packages has the component."""
        return any(
            source.enabled and "deb" in source.types and component in source.components
            for source in self.sources
        )

    def addresses(self, source: Source) -> tuple[str, ...]:
        """Where an entry's packages come from: a list of mirrors stands for what is in it.

        A list that was not read stands for itself (apt-transport-mirror(1)).
        """
        return tuple(address for uri in source.uris for address in self._mirrors(uri))

    def _mirrors(self, uri: str) -> tuple[str, ...]:
        path = _MIRROR_LIST.fullmatch(uri)
        text = next((file.text for file in self.files if path and file.path == path[1]), None)
        if text is None:
            return (uri,)
        lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
        return tuple(words[0] for words in lines if words)


@dataclass(frozen=True)
class _Entry:
    """A source, and where each of its components ends in the file."""

    source: Source
    ends: tuple[int, ...]


def parse(text: str) -> AptSources:
    """Read the lines and framed files that COMMAND prints.

    Raises:
        ParseError: the frames do not add up.
    """
    head = "".join(_head(text))
    found = files.parse_files(text[len(head) :])
    words = [line.split(" ") for line in head.split("\n") if line.startswith("candidate ")]
    return AptSources(
        tuple(
            entry.source
            for file in found
            if _COUNTS.fullmatch(file.path)
            for entry in _entries(file.text, file.path)
        ),
        found,
        {word[1]: word[2] for word in words if len(word) == 3},  # noqa: PLR2004
    )


def with_component(
    text: str,
    path: str,
    component: str,
    beside: str = "main",
    belongs: Callable[[Source], bool] = lambda _: True,
) -> str:
    """Return the file with the component added to each enabled source of binary packages.

    It goes behind `beside`, to the entries that `belongs` tells and that lack the component; every
    other byte stays. The form is told by the path, as apt does.
    """
    edited = text
    for entry in reversed(tuple(_entries(text, path))):
        source = entry.source
        if "deb" not in source.types or not source.enabled or source.flat or not belongs(source):
            continue
        if beside in source.components and component not in source.components:
            end = entry.ends[source.components.index(beside)]
            edited = f"{edited[:end]} {component}{edited[end:]}"
    return edited


def _head(text: str) -> Iterator[str]:
    for line in _LINE.finditer(text):
        if line[0].startswith(_FRAME):
            return
        yield line[0]


def _entries(text: str, path: str) -> Iterator[_Entry]:
    if path.endswith(".sources"):
        return (_stanza(path, fields) for fields in _stanzas(text) if fields)
    return _one_line_entries(text, path)


def _one_line_entries(text: str, path: str) -> Iterator[_Entry]:
    for line in _LINE.finditer(text):
        words = list(_quoting_words(text, line.start(), line.end()))
        if len(words) < 3 or words[0][0] not in ("deb", "deb-src"):  # noqa: PLR2004
            continue
        options = words.pop(1)[0] if words[1][0].startswith("[") else ""
        if len(words) >= 3:  # noqa: PLR2004
            yield _one_line_entry(path, words, options)


def _quoting_words(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """The words of one line, up to its comment or to a quote that is never closed."""
    position = _skipped(text, start, end)
    while word := _QUOTING_WORD.match(text, position, end):
        yield word
        position = _skipped(text, word.end(), end)


def _skipped(text: str, start: int, end: int) -> int:
    blanks = _BLANKS.match(text, start, end)
    return blanks.end() if blanks else start


def _one_line_entry(path: str, words: list[re.Match[str]], options: str) -> _Entry:
    kind, uri, suite, *components = words
    settings = dict(option.split("=", 1) for option in options.strip("[]").split() if "=" in option)
    source = Source(
        path=path,
        uris=(uri[0],),
        suites=(suite[0],),
        components=tuple(component[0] for component in components),
        enabled=True,
        types=(kind[0],),
        signed_by=settings.get("signed-by"),
    )
    return _Entry(source, tuple(component.end() for component in components))


def _stanzas(text: str) -> Iterator[dict[str, list[re.Match[str]]]]:
    """The words of every field of each stanza, by the field's name in small letters."""
    fields: dict[str, list[re.Match[str]]] = {}
    words: list[re.Match[str]] = []
    for line in _LINE.finditer(text):
        if line[0].startswith("#"):
            continue
        if not line[0].strip("\r\n"):
            yield fields
            fields, words = {}, []
        elif line[0].startswith((" ", "\t")):
            words.extend(_WORD.finditer(text, line.start(), line.end()))
        elif field := _FIELD.match(text, line.start(), line.end()):
            words = fields.setdefault(field[1].lower(), [])
            words[:] = _WORD.finditer(text, field.end(), line.end())
    yield fields


def _stanza(path: str, fields: Mapping[str, Iterable[re.Match[str]]]) -> _Entry:
    values = {name: tuple(word[0] for word in words) for name, words in fields.items()}
    source = Source(
        path=path,
        uris=values.get("uris", ()),
        suites=values.get("suites", ()),
        components=values.get("components", ()),
        enabled=" ".join(values.get("enabled", ())).lower() not in NO,
        types=values.get("types", ()),
        signed_by=" ".join(values.get("signed-by", ())) or None,
    )
    return _Entry(source, tuple(word.end() for word in fields.get("components", ())))
