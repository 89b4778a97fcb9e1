"""Text that came from anywhere as people read it: shown, not obeyed, and of bounded width.

What is not printable (control characters, those that turn the direction of writing, half
characters) is shown by its number in every form: here, in JSON's own escapes, in a label.
"""

import json
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


def wrapped(head: str, sentence: str) -> list[str]:
    """The sentence behind its head, cut at blanks into lines of WIDTH; its words stay whole."""
    lines = wrap(
        visible(sentence),
        WIDTH - max(len(INDENT), len(head)),
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    first, *others = lines or [""]
    return [f"{head:{len(INDENT)}}{first}", *(f"{INDENT}{line}" for line in others)]
