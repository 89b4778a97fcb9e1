"""/etc/default/grub and its drop-ins: which kernel parameters they give, and taking some out.

grub-mkconfig sources the main file, then /etc/default/grub.d/*.cfg in glob order (Debian and
Ubuntu), all with sh. A CR before a line end is not taken for a part of a value.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from apuhost.probes import ParseError, cmdline, files, shell_assignments
from apuhost.probes.files import TextFile
from apuhost.probes.shell_assignments import Assignment
from apuhost.probes.shell_words import Word

COMMAND = files.command("/etc/default/grub", "/etc/default/grub.d/*.cfg")

LINUX = "GRUB_CMDLINE_LINUX"
LINUX_DEFAULT = "GRUB_CMDLINE_LINUX_DEFAULT"

# Set by grub-mkconfig itself (2.06 to 2.14) or by the environment it runs in, not by these files.
_SET_ELSEWHERE = frozenset(
    {"HOME", "HOSTNAME", "IFS", "LANG", "LC_ALL", "LOGNAME", "OLDPWD", "PATH", "PPID", "PWD"}
    | {"SHELL", "TERM", "TZ", "USER", "GRUB_PREFIX", "bindir", "datadir", "datarootdir"}
    | {"exec_prefix", "grub_cfg", "grub_mkconfig_dir", "host_os", "pkgdatadir", "prefix", "sbindir"}
    | {"self", "sysconfdir"}
)
_LONGEST = 65536  # characters; x86 takes 2048, and a file that doubles a value must not fill memory
_EXPANSION = "\0"  # stands for one expansion in a value; no file that is read here holds a NUL


class Undetermined(ParseError):
    """Only a shell could tell what the file gives, so it is not edited."""


@dataclass(frozen=True)
class GrubFiles:
    """The files in the order in which grub-mkconfig sources them."""

    files: tuple[TextFile, ...]


@dataclass(frozen=True)
class GrubDefaults:
    """What one file gives, its variables unexpanded; None where it assigns nothing for certain.

    `undetermined` tells that only a shell could tell what the file really gives.
    """

    cmdline_linux: str | None
    cmdline_linux_default: str | None
    undetermined: bool


@dataclass(frozen=True)
class Configured:
    """What the files give together, and the paths of those that could not be evaluated."""

    linux: str
    linux_default: str
    undetermined: tuple[str, ...]


@dataclass(frozen=True)
class _Value:
    """A variable's value as far as it is known, and the files that keep it from being certain."""

    text: str
    doubts: frozenset[str] = frozenset()


def parse(text: str) -> GrubFiles:
    """Read the framed files that COMMAND prints.

    Raises:
        ParseError: the frames do not add up.
    """
    return GrubFiles(files.parse_files(text))


def defaults(text: str) -> GrubDefaults:
    """Return what the text of one file assigns to the two variables.

    Raises:
        ParseError: the text is no shell file: it holds a NUL byte, words but no assignment, or
            far more than settings.
    """
    if len(text) > shell_assignments.LONGEST:
        raise ParseError(f"it has more than {shell_assignments.LONGEST} characters")
    file = shell_assignments.read(text)
    if "\0" in text or not (file.assignments or file.obstacle or _is_comment(text)):
        raise ParseError("no shell assignments in it: not a file like /etc/default/grub")
    last = {a.name: a for a in file.assignments}
    return GrubDefaults(
        _written(last.get(LINUX)), _written(last.get(LINUX_DEFAULT)), _is_undetermined(text)
    )


def configured(sourced: Iterable[TextFile]) -> Configured:
    """Evaluate the files in sourcing order, as sh would; an unset variable is empty."""
    variables: dict[str, _Value] = {}
    obscure = set()
    order = []
    for file in sourced:
        order.append(file.path)
        shell_file = shell_assignments.read(file.text)
        if shell_file.obstacle is not None:
            obscure.add(file.path)
        for assignment in shell_file.assignments:
            variables[assignment.name] = _assigned(assignment, variables, file.path)
    linux, default = (variables.get(name, _Value("")) for name in (LINUX, LINUX_DEFAULT))
    doubted = obscure | linux.doubts | default.doubts
    return Configured(linux.text, default.text, tuple(path for path in order if path in doubted))


def sources(sourced: Iterable[TextFile], key: str) -> tuple[str, ...]:
    """Return the paths of the files that give a kernel parameter with this key."""
    return tuple(file.path for file in sourced if _gives(file.text, key))


def without(text: str, keys: Collection[str]) -> str:
    """Return the file less the parameters with these keys in the two variables' assignments.

    Every other byte stays; a parameter inside a referenced variable stays too.

    Raises:
        Undetermined: only a shell could tell what the file, or one of the parameters, gives.
    """
    if _is_undetermined(text):
        raise Undetermined("only a shell could tell what this file gives: edit it by hand")
    before = _kernel_assignments(text)
    edited = _cut(text, sorted(span for a in before for span in _unwanted(a.value, keys)))
    expected = [(a.name, cmdline.without(_masked(a.value), keys)) for a in before]
    if [(a.name, _masked(a.value)) for a in _kernel_assignments(edited)] != expected:
        raise Undetermined("its quotes do not allow to take parameters out: edit it by hand")
    return edited


def _is_comment(text: str) -> bool:
    return all(line.startswith("#") for line in map(str.strip, text.splitlines()) if line)


def _is_undetermined(text: str) -> bool:
    return bool(configured([TextFile("", text)]).undetermined)


def _assigned(assignment: Assignment, variables: Mapping[str, _Value], path: str) -> _Value:
    if not assignment.certain:
        known = variables.get(assignment.name, _Value(""))
        return _Value(known.text, known.doubts | {path})
    parts = [_expanded(piece.reference, variables, path) for piece in assignment.value]
    texts = [
        piece.text if piece.literal else part.text
        for piece, part in zip(assignment.value, parts, strict=True)
    ]
    doubts = {path for piece in assignment.value if piece.opaque}
    if sum(map(len, texts)) > _LONGEST:
        return _Value("", frozenset(doubts | {path}))
    return _Value("".join(texts), frozenset(doubts).union(*(part.doubts for part in parts)))


def _expanded(name: str | None, variables: Mapping[str, _Value], path: str) -> _Value:
    if name is not None and name in variables:
        return variables[name]
    return _Value("", frozenset({path} if name in _SET_ELSEWHERE else ()))


def _kernel_assignments(text: str) -> list[Assignment]:
    found = shell_assignments.read(text).assignments
    return [a for a in found if a.certain and a.name in (LINUX, LINUX_DEFAULT)]


def _gives(text: str, key: str) -> bool:
    return any(
        key in cmdline.read(_masked(assignment.value))
        for assignment in shell_assignments.read(text).assignments
        if assignment.name in (LINUX, LINUX_DEFAULT)
    )


def _written(assignment: Assignment | None) -> str | None:
    if assignment is None or not assignment.certain:
        return None
    return "".join(piece.text for piece in assignment.value)


def _masked(value: Word) -> str:
    """Return the value with one character for each piece, so that places in it are pieces."""
    return "".join(piece.text if piece.literal else _EXPANSION for piece in value)


def _unwanted(value: Word, keys: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans in the file of the characters to cut out of one value."""
    masked = _masked(value)
    for start, end in cmdline.removals(masked, keys):
        if _EXPANSION in masked[start:end]:
            raise Undetermined("a variable stands inside a parameter to take out: edit it by hand")
        yield from ((piece.start, piece.end) for piece in value[start:end])


def _cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    kept = []
    position = 0
    for start, end in spans:
        kept.append(text[position:start])
        position = end
    return "".join(kept) + text[position:]
