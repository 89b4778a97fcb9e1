"""What to type for a failing verdict: commands that can be pasted, whatever the names are."""

from collections.abc import Sequence
from shlex import quote

from apuhost.report.text import INDENT, WIDTH, visible
from apuhost.verdicts import Verdict

PLACE = "INVENTORY"
DEEPER = f"{INDENT}     "
FOLD = " \\"


def fix(verdict: Verdict, host: str, inventory: str) -> str:
    """What to type for a failing verdict on this host."""
    # Both may come from a facts folder of somebody else, and the line is there to be pasted.
    named = f"{quote(inventory)} --limit {quote(host)}"
    return verdict.fix.replace(PLACE, named)


def fix_lines(
    template: str, inventory: str, limits: Sequence[str], width: int = WIDTH
) -> list[str]:
    """The fix for the hosts that `limits` name, folded between its options where it is long."""
    before, meant, after = template.partition(PLACE)
    options = [f" --limit {quote(limit)}" for limit in limits] if meant else []
    command = [f"{before}{quote(inventory) if meant else ''}", *options]
    whole = f"{INDENT}fix: {''.join(command)}{after}"
    if len(whole) <= width or not meant:
        return [visible(whole)]
    return [visible(line) for line in (*_prose(command), *_folded(command, after, width))]


def _prose(command: list[str]) -> list[str]:
    """What is said before the command, on a line of its own; taken off the command."""
    words, name, rest = command[0].rpartition("apuhost ")
    command[0] = f"{name}{rest}"
    return [f"{INDENT}fix: {words}".rstrip()]


def _folded(command: Sequence[str], after: str, width: int) -> list[str]:
    lines = [f"{DEEPER}{command[0]}"]
    for option in command[1:]:
        if len(lines[-1]) + len(option) > width - len(FOLD):
            lines[-1] += FOLD
            lines.append(f"{DEEPER}    {option.lstrip()}")
        else:
            lines[-1] += option
    return [*lines[:-1], lines[-1] + after]
