"""One question about several things: the first that differs, and how many do."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from apuhost.host_facts import Unreadable
from apuhost.verdicts import Found

Thing = TypeVar("Thing")


def several(
    things: Iterable[Thing], look: Callable[[Thing], Found], name: Callable[[Thing], str] = str
) -> Found:
    """The first thing that differs, by its name, and how many more do; else the first's words.

    What one of them cannot show, all of them together do not show either.

    Raises:
        Unreadable: none that could be read differs, and one could not.
    """
    wrong: list[tuple[str, Found]] = []
    right: list[tuple[str, Found]] = []
    unread: list[Unreadable] = []
    for thing in things:
        try:
            found = look(thing)
        except Unreadable as error:
            unread.append(error)
        else:
            (wrong if found.holds is False else right).append((name(thing), found))
    if wrong:
        return _first(wrong)
    if unread:
        raise unread[0]
    if unshown := next((found for _, found in right if found.holds is None), None):
        return unshown
    more = f" (and {len(right) - 1} more)" if len(right) > 1 else ""
    return Found(True, f"{right[0][0]}: {right[0][1].observed}{more}")


def _first(wrong: list[tuple[str, Found]]) -> Found:
    name, found = wrong[0]
    more = f" (the first of {len(wrong)} that differ)" if len(wrong) > 1 else ""
    return Found(False, f"{name}: {found.observed}{more}", found.evidence, found.fix)
