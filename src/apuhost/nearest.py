"""The right word that a misspelt one is nearest to, told behind an error."""

from collections.abc import Iterable
from difflib import get_close_matches


def hint(word: str, known: Iterable[str]) -> str:
    """Return ` (WORD?)`, or nothing where no known word is near."""
    near = get_close_matches(word, tuple(known), n=1)
    return f" ({near[0]}?)" if near else ""
