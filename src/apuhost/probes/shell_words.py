"""Words of a POSIX sh text, as far as they can be told without being a shell.

Rules: POSIX.1-2017, Shell Command Language, 2.2 (quoting), 2.3 (tokens), 2.6 (expansions).
A word is a tuple of pieces; each piece knows where it stands, so that an edit can cut exactly it.
"""

import re
from dataclasses import dataclass, replace

from apuhost.probes import ParseError

METACHARACTERS = " \t\n;&|<>()"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_SPECIAL = re.compile(r"\$[0-9@*#?$!-]")
_SPLIT_REFERENCE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*)?\\\n")
_ASSIGNING = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*:?=|\$\(\([^)]*=")
_BRACED = re.compile(r"\$\{#?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?=[}:#%+?-])")
_DEEPEST = 20  # nested substitutions; real files have one or two


class OnlyAShellError(ParseError):
    """The text cannot be read without running it; the message says what was met."""


@dataclass(frozen=True)
class Piece:
    """One character of a word after quote removal, or one whole expansion.

    `text` is the character, or the expansion as it is written; `reference` names the variable
    of a plain `$NAME` or `${NAME}`; `opaque` marks what only a shell can expand.
    """

    text: str
    start: int
    end: int
    quoted: bool
    reference: str | None = None
    opaque: bool = False

    @property
    def literal(self) -> bool:
        """Whether the piece stands for itself."""
        return self.reference is None and not self.opaque


Word = tuple[Piece, ...]


def word_at(text: str, position: int, depth: int = 0) -> tuple[Word, int]:
    """Return the word that starts at a position and where it ends.

    Raises:
        OnlyAShellError: an unterminated quote, or an expansion that is not read here.
    """
    if depth > _DEEPEST:
        raise OnlyAShellError("substitutions nested too deep")
    pieces: list[Piece] = []
    while position < len(text) and not _ends_word(text, position):
        added, position = _part(text, position, depth)
        pieces += added
    return tuple(pieces), position


def spelt(word: Word) -> str | None:
    """Return the word's text if it is unquoted and stands for itself, else None."""
    if all(piece.literal and not piece.quoted for piece in word):
        return "".join(piece.text for piece in word)
    return None


def split_assignment(word: Word) -> tuple[str, Word] | None:
    """Return name and value if the word has the form of an assignment, else None."""
    equals = next((i for i, piece in enumerate(word) if piece.text == "="), 0)
    name = spelt(word[:equals])
    if not name or word[equals].quoted or not _NAME.fullmatch(name):
        return None
    return name, _with_tildes(word[equals + 1 :])


def line_end(text: str, position: int) -> int:
    """Return where the text line around a position ends: at its newline or the text's end."""
    newline = text.find("\n", position)
    return len(text) if newline < 0 else newline


def _ends_word(text: str, position: int) -> bool:
    return text[position] in METACHARACTERS or text.startswith("\r\n", position)


def _part(text: str, position: int, depth: int) -> tuple[list[Piece], int]:
    match text[position]:
        case "'":
            return _single_quoted(text, position)
        case '"':
            return _double_quoted(text, position, depth)
        case "\\":
            return _escaped(text, position)
        case "$" | "`":
            if text.startswith(("$'", '$"'), position):
                raise OnlyAShellError("$'...' means different things to different shells")
            piece = _expansion(text, position, depth, quoted=False)
            return [piece], piece.end
        case character:
            return [Piece(character, position, position + 1, quoted=False)], position + 1


def _single_quoted(text: str, position: int) -> tuple[list[Piece], int]:
    end = text.find("'", position + 1)
    if end < 0:
        raise OnlyAShellError("a single quote is never closed")
    pieces = [Piece(text[i], i, i + 1, quoted=True) for i in range(position + 1, end)]
    return pieces, end + 1


def _double_quoted(text: str, position: int, depth: int) -> tuple[list[Piece], int]:
    pieces: list[Piece] = []
    position += 1
    while position < len(text) and text[position] != '"':
        if text.startswith("\\\r\n", position):
            raise OnlyAShellError("a backslash before CR LF continues no line")
        if text.startswith("\\\n", position):
            position += 2
            continue
        pieces.append(_double_quoted_piece(text, position, depth))
        position = pieces[-1].end
    if position >= len(text):
        raise OnlyAShellError("a double quote is never closed")
    return pieces, position + 1


def _double_quoted_piece(text: str, position: int, depth: int) -> Piece:
    if text[position] in "$`":
        return _expansion(text, position, depth, quoted=True)
    if text[position] == "\\" and text[position + 1 : position + 2] in ("$", "`", '"', "\\"):
        return Piece(text[position + 1], position, position + 2, quoted=True)
    return Piece(text[position], position, position + 1, quoted=True)


def _escaped(text: str, position: int) -> tuple[list[Piece], int]:
    if text.startswith("\\\n", position):
        return [], position + 2
    if text.startswith("\\\r\n", position) or position + 1 == len(text):
        raise OnlyAShellError("a backslash before CR LF or the end of the file continues no line")
    return [Piece(text[position + 1], position, position + 2, quoted=True)], position + 2


def _expansion(text: str, position: int, depth: int, *, quoted: bool) -> Piece:
    if _SPLIT_REFERENCE.match(text, position):
        raise OnlyAShellError("a variable's name goes on over a line end")
    if _ASSIGNING.match(text, position):
        raise OnlyAShellError("an expansion that assigns a variable")
    if reference := _REFERENCE.match(text, position):
        name = reference[1] or reference[2]
        return Piece(reference[0], position, reference.end(), quoted, reference=name)
    end = _expansion_end(text, position, depth)
    if end == position + 1:  # a dollar sign that begins nothing stands for itself
        return Piece("$", position, end, quoted)
    return Piece(text[position:end], position, end, quoted, opaque=True)


def _expansion_end(text: str, position: int, depth: int) -> int:
    if text[position] == "`":
        return _backquoted_end(text, position)
    if text.startswith("$(", position):
        return _substitution_end(text, position, depth)
    if text.startswith("${", position):
        return _braces_end(text, position, depth)
    return position + (2 if _SPECIAL.match(text, position) else 1)


def _backquoted_end(text: str, position: int) -> int:
    closed = re.compile(r"`(?:[^`\\]|\\.)*`", re.DOTALL).match(text, position)
    if closed is None:
        raise OnlyAShellError("a backquote is never closed")
    return closed.end()


def _substitution_end(text: str, position: int, depth: int) -> int:
    arithmetic = text.startswith("$((", position)
    position += 2
    opened = 1
    while opened and position < len(text):
        if text.startswith("<<", position) and not arithmetic:
            raise OnlyAShellError("a here-document")
        if text[position] == "#" and text[position - 1] in METACHARACTERS and not arithmetic:
            position = line_end(text, position)
        elif _ends_word(text, position):
            opened += {"(": 1, ")": -1}.get(text[position], 0)
            position += 1
        else:
            word, position = word_at(text, position, depth + 1)
            if spelt(word) == "case":
                raise OnlyAShellError("a case inside a substitution")
    if opened:
        raise OnlyAShellError("a command substitution is never closed")
    return position


def _braces_end(text: str, position: int, depth: int) -> int:
    """Return the end of `${...}` that is more than a name; a quote in it is not read here."""
    parameter = _BRACED.match(text, position)
    if parameter is None:
        raise OnlyAShellError("a ${...} that sh does not know")
    position = parameter.end()
    while position < len(text) and text[position] != "}":
        if text[position] in "'\"":
            raise OnlyAShellError("a quote inside ${...}")
        if text[position] in "$`":
            position = _nested_end(text, position, depth + 1)
        else:
            position += 2 if text[position] == "\\" else 1
    if position >= len(text):
        raise OnlyAShellError("a ${ is never closed")
    return position + 1


def _nested_end(text: str, position: int, depth: int) -> int:
    if depth > _DEEPEST:
        raise OnlyAShellError("substitutions nested too deep")
    return _expansion(text, position, depth, quoted=True).end


def _with_tildes(value: Word) -> Word:
    """Mark each tilde that a shell takes for a home directory: unquoted, first or after `:`."""
    marked = list(value)
    for i, piece in enumerate(value):
        if piece.text == "~" and not piece.quoted and (i == 0 or _is_colon(value[i - 1])):
            marked[i] = replace(piece, opaque=True)
    return tuple(marked)


def _is_colon(piece: Piece) -> bool:
    return piece.text == ":" and not piece.quoted
