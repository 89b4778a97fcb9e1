"""The kernel's parameter line: /proc/cmdline, its copies in the kernel log, lines to be edited.

The rules are those of the kernel: next_arg() of lib/cmdline.c splits, parse_args() and
parameq() of kernel/params.c stop at `--` and take dash and underscore in keys for equal.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from apuhost.probes import ParseError

COMMAND = "cat /proc/cmdline"

_BLANKS = " \t\n\v\f\r"
_ESCAPE_CODE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
# What a kernel log puts before the message: journal, dmesg (with caller ids), syslog, /dev/kmsg.
_LOGGED = re.compile(r"^(?:.*(?:kernel: |\] ?|<[0-9]+>|;))?(?:Kernel c|C)ommand line: ?(.*)$")
# A boot loader puts one of these first; other text over several lines is not a parameter line.
_FIRST_KEYS = ("BOOT_IMAGE=", "initrd=", "root=")
_WRAPPED = " \\"
# A piece that a terminal or a mail program broke off: no prefix of a log's, no `NAME: `.
_REST = re.compile(
    r"(?!\[|<[0-9]|[0-9]+,[0-9]|[0-9]{4}-[0-9]{2}-|\w{1,4} [ 0-9]{2} |Unknown kernel )"
    r"(?!.*:(?: |$))\S"
)
_SHORTEST, _TERMINAL = 40, 80  # columns: nothing breaks a shorter line; a terminal not before 80
_LONGEST = 65_536  # characters; x86 takes 2048


@dataclass(frozen=True)
class Argument:
    """One parameter; `value` is None for a bare flag and "" for `key=`."""

    key: str
    value: str | None


@dataclass(frozen=True)
class Token:
    """An argument and where it stands in its line: from `start` up to but not with `end`."""

    start: int
    end: int
    argument: Argument


@dataclass(frozen=True)
class Cmdline:
    """The parameters in their order; what follows a lone `--` goes to init and is not here."""

    arguments: tuple[Argument, ...]

    def values(self, key: str) -> tuple[str | None, ...]:
        """Return every value of a key in order, None for each bare flag."""
        wanted = canonical(key)
        return tuple(a.value for a in self.arguments if canonical(a.key) == wanted)

    def effective(self, key: str) -> str | None:
        """Return the value that counts, the last one; None for a bare flag and when absent."""
        values = self.values(key)
        return values[-1] if values else None

    def __contains__(self, key: str) -> bool:
        """Tell whether the key is on the line at all, as a bare flag too."""
        return bool(self.values(key))


def canonical(key: str) -> str:
    """Return the one spelling of a key: the kernel takes `-` and `_` for equal (parameq)."""
    return key.replace("-", "_")


def tokens(line: str) -> Iterator[Token]:
    """Yield each parameter of a line with its place, up to a lone `--`."""
    position = _skip_blanks(line, 0)
    while position < len(line):
        end = _token_end(line, position)
        argument = _argument(line[position:end])
        if argument == Argument("--", None):
            return
        yield Token(position, end, argument)
        position = _skip_blanks(line, end)


def read(line: str) -> Cmdline:
    """Return the parameters of one line as the kernel splits it. Never fails."""
    return Cmdline(tuple(token.argument for token in tokens(line)))


def parse(text: str) -> Cmdline:
    """Read /proc/cmdline, or a kernel log that holds copies of the line (the last one counts).

    Raises:
        ParseError: several lines without a kernel command line among them, binary data, or far
            more than any kernel takes.
    """
    shown = _ESCAPE_CODE.sub("", text)
    copies = _logged_copies(shown)
    line = copies[-1] if copies else _plain_line(shown)
    if len(line) > _LONGEST:
        raise ParseError(f"not a kernel command line: it has more than {_LONGEST} characters")
    return read(line)


def parameters(cmdline: Cmdline) -> dict[str, list[str | None]]:
    """Return every key, as it is first spelt, with its values in order."""
    spelt = {canonical(a.key): a.key for a in reversed(cmdline.arguments)}
    found: dict[str, list[str | None]] = {}
    for argument in cmdline.arguments:
        found.setdefault(spelt[canonical(argument.key)], []).append(argument.value)
    return found


def document(cmdline: Cmdline) -> dict[str, dict[str, list[str | None]] | dict[str, str | None]]:
    """Return what `apuhost parse cmdline` prints; null stands for a bare flag."""
    every = parameters(cmdline)
    return {"parameters": every, "effective": {key: every[key][-1] for key in every}}


def join(arguments: Iterable[Argument]) -> str:
    """Return a line that reads back as these arguments.

    The kernel knows no escape for a double quote: a value that holds one may read differently.
    """
    return " ".join(_written(argument) for argument in arguments)


def without(line: str, keys: Collection[str]) -> str:
    """Return the line less every parameter with one of these keys and the blanks before it.

    All other bytes stay as they are; parameters after a lone `--` are init's and stay too.
    """
    kept = []
    position = 0
    for start, end in removals(line, keys):
        kept.append(line[position:start])
        position = end
    return "".join(kept) + line[position:]


def removals(line: str, keys: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans that `without` cuts: each token with the blanks before it.

    A token with nothing kept before it on its own text line goes with the blanks after it.
    """
    unwanted = {canonical(key) for key in keys}
    leading = True
    previous = 0
    for token in tokens(line):
        leading = leading or "\n" in line[previous : token.start]
        previous = token.end
        if canonical(token.argument.key) not in unwanted:
            leading = False
        elif leading:
            yield token.start, _skip_blanks(line, token.end, " \t")
        else:
            yield len(line[: token.start].rstrip(" \t")), token.end


def _skip_blanks(line: str, position: int, blanks: str = _BLANKS) -> int:
    while position < len(line) and line[position] in blanks:
        position += 1
    return position


def _token_end(line: str, position: int) -> int:
    in_quotes = False
    while position < len(line) and (in_quotes or line[position] not in _BLANKS):
        in_quotes ^= line[position] == '"'
        position += 1
    return position


def _argument(raw: str) -> Argument:
    """Return key and value of one token: next_arg() drops quotes around the value or the whole."""
    quoted = raw.startswith('"')
    text = raw.removeprefix('"')
    equals = text.find("=", 1)
    if equals < 0:
        return Argument(text.removesuffix('"') if quoted else text, None)
    value = text[equals + 1 :]
    if quoted or value.startswith('"'):
        value = value.removeprefix('"').removesuffix('"')
    return Argument(text[:equals], value)


def _written(argument: Argument) -> str:
    if argument.value is None:
        return _protected(argument.key)
    if _needs_quotes(argument.key):
        return _protected(f"{argument.key}={argument.value}")
    return f"{argument.key}={_protected(argument.value) if argument.value else ''}"


def _protected(text: str) -> str:
    return f'"{text}"' if _needs_quotes(text) or not text else text


def _needs_quotes(text: str) -> bool:
    return any(blank in text for blank in _BLANKS)


def _logged_copies(text: str) -> list[str]:
    """Return the copies of the line that a kernel log holds, less one that the end has cut."""
    found: list[str] = []
    lines = _unbroken(text.replace("\0", "").split("\n"))
    for line in lines:
        logged = _LOGGED.match(line)
        if logged is None:
            continue
        if found and found[-1].endswith(_WRAPPED):  # Linux 6.19 wraps a long line over messages
            found[-1] = found[-1].removesuffix(_WRAPPED) + " " + logged[1]
        else:
            found.append(logged[1])
    if _is_cut(lines[-1], found):
        found.pop()
    return found


def _unbroken(lines: Iterable[str]) -> list[str]:
    """The lines of a log; a copy of the parameter line that was broken is one line again.

    A mail program breaks it at a blank, a terminal at its width, in a word.
    """
    unbroken: list[str] = []
    width = 0
    for line in (line.rstrip("\r") for line in lines):
        if width >= _SHORTEST and _REST.match(line):
            unbroken[-1] += line if width >= _TERMINAL else f" {line}"
            width = width if len(line) > width / 2 else 0  # else it is the last piece
        else:
            unbroken.append(line)
            width = _width(line)
    return unbroken


def _width(line: str) -> int:
    """How wide a copy is that may go on; one without any parameter does go on."""
    logged = _LOGGED.match(line)
    if logged is None:
        return 0
    return len(line) if logged[1].strip() else _SHORTEST


def _is_cut(last_line: str, copies: list[str]) -> bool:
    """Tell whether the text ends inside its last copy, seen from the copy before."""
    return len(copies) > 1 and last_line.endswith(copies[-1]) and _begins(copies[-2], copies[-1])


def _begins(whole: str, part: str) -> bool:
    return bool(part) and whole != part and whole.startswith(part)


def _plain_line(text: str) -> str:
    """Return the one line of /proc/cmdline, put together again where it was wrapped at blanks."""
    lines = [line for line in text.rstrip("\0\r\n").splitlines() if line.strip()]
    lines = [line for line in lines if not line.rstrip().endswith(COMMAND)]
    if len(lines) > 1 and not lines[0].lstrip().startswith(_FIRST_KEYS):
        raise ParseError(f"{len(lines)} lines, none of them a kernel command line")
    line = " ".join(lines)
    if _CONTROL.search(line):
        raise ParseError("not a kernel command line: it holds control characters")
    return line
