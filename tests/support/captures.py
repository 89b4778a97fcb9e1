"""A text as people hand it over: behind a prefix, broken by a mail program or by a terminal."""

from textwrap import wrap

COMPOSE = "ollama-1  | "
JOURNALD = "Jun 19 11:40:54 box ollama[17]: "
DOCKERS_TIME = "2026-09-10T08:00:00.123456789Z "


def behind(prefix: str, text: str) -> str:
    """Every line behind a prefix."""
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


def mailed(text: str, width: int = 76) -> str:
    """Lines broken at a blank."""
    return "\n".join(
        piece
        for line in text.splitlines()
        for piece in wrap(line, width, break_long_words=False, break_on_hyphens=False)
    )


def shown(text: str, width: int) -> str:
    """Lines broken at a terminal's width, in the middle of a word."""
    return "\n".join(
        line[at : at + width] for line in text.splitlines() for at in range(0, len(line), width)
    )
