"""Text that came from anywhere as people read it: shown, not obeyed, and of bounded width.

What is not printable (control characters, those that turn the direction of writing, half
characters) is shown by its number in every form: here, in JSON's own escapes, in a label. The width
is WIDTH, but on a terminal the terminal's, which the command knows.
"""

import json
from collections.abc import Iterable
from textwrap import wrap

WIDTH = 100
WORD_WIDTH = 7
ID_WIDTH = 22
INDENT = " " * (WORD_WIDTH + ID_WIDTH)


def visible(text: str) -> str:
    """Text of a host as one line of a terminal: control characters are shown, not obeyed."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def visible_json(text: str) -> str:
    """JSON's text with the same characters in JSON's own escapes: it still says the same."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text
    )


def wrapped(head: str, sentence: str, width: int = WIDTH, indent: str = INDENT) -> list[str]:
    """The sentence behind its head, cut at blanks into lines of the width; its words stay whole."""
    lines = wrap(
        visible(sentence),
        max(1, width - max(len(indent), len(head))),
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    first, *others = lines or [""]
    return [f"{head:{len(indent)}}{first}", *(f"{indent}{line}" for line in others)]


def parts(named: Iterable[str], gap: str, width: int) -> list[str]:
    """Parts in as many lines as they need, none of them cut."""
    lines: list[str] = []
    for part in named:
        if lines and len(lines[-1]) + len(gap) + len(part) <= width:
            lines[-1] += gap + part
        else:
            lines.append(part)
    return lines
