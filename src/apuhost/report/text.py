"""Lines that people read: of any text, and of bounded width."""

from textwrap import wrap

WIDTH = 100
WORD_WIDTH = 7
ID_WIDTH = 22
INDENT = " " * (WORD_WIDTH + ID_WIDTH)


def visible(text: str) -> str:
    """Text of a host as one line of a terminal: control characters are shown, not obeyed."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


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
