"""The statements of a GRUB script: words after quote removal, and what ends each statement.

Rules: the GRUB manual, "Shell-like scripting" (words, quoting, comments).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from apuhost.probes import ParseError

_PART = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|\$\{[^}\s$]*\}|[^\s;'"\\$]+|\$""", re.DOTALL)
_ESCAPED_IN_DOUBLE = re.compile(r"""\\([$"\\\n])""")


class CutShortError(ParseError):
    """The text ends inside a quoted string."""


@dataclass(frozen=True)
class Token:
    """A word after quote removal, or a newline, `;`, `{`, `}` or comment as it is written."""

    text: str
    start: int
    end: int
    word: bool


@dataclass(frozen=True)
class Statement:
    """A command's words, and the newline, `;`, `{`, `}` or comment that ends it."""

    words: tuple[str, ...]
    end: str
    source: str
    offsets: tuple[int, ...]  # where in the source each word ends

    def after(self, index: int) -> str:
        """Return what is written behind the word with this index, without the blanks around."""
        return self.source[self.offsets[index] :].strip()


def statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a script in order.

    Raises:
        CutShortError: the text ends inside a quoted string.
    """
    words: list[Token] = []
    for token in _tokens(text):
        if token.word:
            words.append(token)
        else:
            yield _statement(text, words, token)
            words = []


def _statement(text: str, words: list[Token], end: Token) -> Statement:
    start = words[0].start if words else end.start
    offsets = tuple(word.end - start for word in words)
    return Statement(tuple(word.text for word in words), end.text, text[start : end.start], offsets)


def _tokens(text: str) -> Iterator[Token]:
    position = 0
    while position < len(text):
        if text.startswith("\\\n", position):
            position += 2
        elif text[position] in "\n;":
            yield Token(text[position], position, position + 1, word=False)
            position += 1
        elif text[position].isspace():
            position += 1
        else:
            token = _comment(text, position) if text[position] == "#" else _word(text, position)
            yield token
            position = token.end
    yield Token("\n", len(text), len(text), word=False)


def _comment(text: str, start: int) -> Token:
    newline = text.find("\n", start)
    end = len(text) if newline < 0 else newline
    return Token(text[start:end], start, end, word=False)


def _word(text: str, start: int) -> Token:
    kept = []
    position = start
    while position < len(text) and not (text[position].isspace() or text[position] == ";"):
        part = _PART.match(text, position)
        if part is None:
            raise CutShortError("the text ends inside a quoted string")
        kept.append(_unquoted(part[0]))
        position = part.end()
    brace = text[start:position] in ("{", "}")
    return Token("".join(kept), start, position, word=not brace)


def _unquoted(part: str) -> str:
    if part[0] == "'":
        return part[1:-1]
    if part[0] == '"':
        return _ESCAPED_IN_DOUBLE.sub(r"\1", part[1:-1])
    return part[1:].lstrip("\n") if part[0] == "\\" else part
