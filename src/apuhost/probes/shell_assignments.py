"""The variable assignments of a POSIX sh file, read without running it.

It is a reader of settings files, not a shell: an assignment that is not made for certain (inside
if, case, a loop, a function, a subshell, after && or ||) is marked, and what could do anything
to any variable (`.`, eval, unset, ...) stops it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from apuhost.probes.shell_words import (
    OnlyAShellError,
    Word,
    line_end,
    spelt,
    split_assignment,
    word_at,
)

_CLOSED_BY = {
    "if": "fi",
    "case": "esac",
    "for": "done",
    "while": "done",
    "until": "done",
    "{": "}",
    "(": ")",
}
_CLOSERS = frozenset(_CLOSED_BY.values())
_SEPARATORS = frozenset({"then", "else", "elif", "do", "!"})
# Builtins that can set or unset any variable or end the reading, and words that sh has not.
_UNREADABLE = re.compile(
    r"\.|source|eval|exec|exit|return|unset|read|getopts|alias|unalias|trap|set|shift|command"
    r"|builtin|readonly|local|declare|typeset|let|mapfile|readarray|function|select|time|coproc"
    r"|break|continue|\[\["
)
_APPEND = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+=")
_FUNCTION = re.compile(r"\([ \t]*\)")
_REDIRECTION = re.compile(r"[<>]{1,2}[&|]?")
LONGEST = 262_144  # characters of a file; settings take a few thousand


@dataclass(frozen=True)
class Assignment:
    """One assignment; `certain` tells that a shell makes it whenever it reads the file."""

    name: str
    value: Word
    certain: bool


@dataclass(frozen=True)
class ShellFile:
    """The assignments in order, up to what stopped the reader (None if nothing did)."""

    assignments: tuple[Assignment, ...]
    obstacle: str | None


def read(text: str) -> ShellFile:
    """Return the assignments of a sh file. Never fails: what stops it is in the record."""
    reader = _Reader(text)
    try:
        reader.read()
    except OnlyAShellError as stop:
        return ShellFile(tuple(reader.assignments), str(stop))
    return ShellFile(tuple(reader.assignments), None)


class _Reader:
    """Walks over the commands of a text and keeps what the next word's meaning depends on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.assignments: list[Assignment] = []
        self.open: list[str] = []  # the compound commands around this position
        self.words: list[Word] = []  # of the command that is being read
        self.pending: list[tuple[str, Word]] = []  # assignments of the list that is being read
        self.connected = False  # && || | & ! or a function's head stand in this list
        self.expecting = False  # such a connector was the last thing read
        self.closed = False  # a compound command was the last thing read

    def read(self) -> None:
        if "\0" in self.text:
            raise OnlyAShellError("a NUL byte")
        if len(self.text) > LONGEST:
            raise OnlyAShellError(f"more than {LONGEST} characters")
        while self.position < len(self.text):
            self._step()
        unfinished = self.expecting
        self._end_list()
        if self.open or unfinished:
            raise OnlyAShellError(
                f"the file ends inside {self.open[-1] if self.open else 'a list'}"
            )

    def _step(self) -> None:
        rest = self.text[self.position : self.position + 2]
        if rest in ("\\\n", "\r\n"):
            self.position += 2 if rest == "\\\n" else 1
        elif rest[0] in " \t":
            self.position += 1
        elif rest[0] == "#":
            self.position = line_end(self.text, self.position)
        elif rest[0] in "\n;&|<>()":
            self._operator(rest)
        else:
            word, self.position = word_at(self.text, self.position)
            self._word(word)

    def _operator(self, rest: str) -> None:
        match rest[0]:
            case "<" | ">":
                self._redirection()
            case "(":
                self._parenthesis()
            case ")":
                self._end_list()
                self.position += 1
                if self.open[-1:] != ["case"]:  # there it ends a pattern, or what the case encloses
                    self._close(")")
            case "&" | "|":
                self._connector(rest)
            case _:
                self.position += 1
                self._separate(rest[0])

    def _separate(self, character: str) -> None:
        if character == ";" and "case" not in self.open:  # there `;;` may follow anything
            self._require_command()
        if self.words or not self.expecting:
            self._end_list()

    def _require_command(self) -> None:
        if not self.words and not self.closed:
            raise OnlyAShellError("a list without a command before its end")

    def _connector(self, rest: str) -> None:
        self._require_command()
        self._end_command()
        self.connected = self.expecting = True
        self.position += 2 if rest in ("&&", "||") else 1
        if rest[0] == "&" and rest != "&&":
            self._end_list()

    def _redirection(self) -> None:
        operator = _REDIRECTION.match(self.text, self.position)
        if operator is None or operator[0].startswith("<<") or not self.words:
            raise OnlyAShellError("a here-document, or a redirection before its command")
        self.position = operator.end()

    def _parenthesis(self) -> None:
        head = _FUNCTION.match(self.text, self.position)
        if not self.words:
            self.position += 1
            if self.open[-1:] != ["case"]:  # there it begins a pattern, or what the case encloses
                self._open("(")
        elif head and len(self.words) == 1 and (spelt(self.words[0]) or "=").isidentifier():
            self.position = head.end()
            self.words.clear()
            self.connected = self.expecting = True
        else:
            raise OnlyAShellError("a parenthesis that sh does not know, such as an array")

    def _word(self, word: Word) -> None:
        text = spelt(word)
        if self.words:
            self.words.append(word)
        elif text in _CLOSERS:
            self._close(text)
        elif self.closed:
            raise OnlyAShellError("a word behind a compound command")
        elif text in _SEPARATORS:
            self._separator(text)
        else:
            self.expecting = False
            if text in _CLOSED_BY:
                self._open(text)
            if text not in _CLOSED_BY or text in ("for", "case"):
                self.words.append(word)

    def _separator(self, text: str) -> None:
        if text == "!":
            self.connected = self.expecting = True
        if text != "!" and not self.open:
            raise OnlyAShellError(f"a {text} without its beginning")

    def _open(self, opener: str) -> None:
        if self.closed:
            raise OnlyAShellError("a compound command behind another")
        self.expecting = False
        self.open.append(opener)

    def _close(self, closer: str) -> None:
        if not self.open or _CLOSED_BY[self.open[-1]] != closer:
            raise OnlyAShellError(f"a {closer} without its beginning")
        self.open.pop()
        self.closed = True

    def _end_command(self) -> None:
        words, self.words, self.closed = self.words, [], False
        settings = [split_assignment(word) for word in words]
        made = [setting for setting in settings if setting]
        if len(made) == len(words):
            self.pending += made
        else:
            first = next(i for i, setting in enumerate(settings) if setting is None)
            self._command(words[first:], [setting for setting in settings[:first] if setting])

    def _command(self, words: Sequence[Word], environment: Sequence[tuple[str, Word]]) -> None:
        """Take up a command with the assignments before it, which hold for it only."""
        name = spelt(words[0])
        if name is None or _UNREADABLE.fullmatch(name):
            raise OnlyAShellError(
                f"a command that may do anything to variables ({name or 'expanded'})"
            )
        self._uncertain(*environment)
        if name == "export":
            self._export(words[1:])
        elif name == "for" and len(words) > 1:
            self._uncertain((spelt(words[1]) or "", ()))
        elif append := _APPEND.match(name):  # sh has no +=: bash appends, dash finds no command
            self._uncertain((append[1], ()))

    def _export(self, words: Sequence[Word]) -> None:
        for word in words:
            if setting := split_assignment(word):
                self.pending.append(setting)
            elif not (spelt(word) or "").isidentifier():
                raise OnlyAShellError("an export of something that is no plain name")

    def _uncertain(self, *settings: tuple[str, Word]) -> None:
        self.assignments += [Assignment(name, value, certain=False) for name, value in settings]

    def _end_list(self) -> None:
        self._end_command()
        certain = not self.connected and not self.open
        self.assignments += [Assignment(name, value, certain) for name, value in self.pending]
        self.pending = []
        self.connected = self.expecting = False
