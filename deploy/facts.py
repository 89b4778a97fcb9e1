"""What a deploy knows of the host it runs on: its settings and its facts, read when needed."""

import base64
import time
from collections.abc import Iterable

from pyinfra import host, state
from pyinfra.api import FactBase
from pyinfra.api.command import QuoteString, StringCommand

from apuhost import settings
from apuhost.gather import HOST_TIMEOUT_S
from apuhost.round_trip import DECIDING, Reading
from apuhost.steps import Known
from apuhost.steps.known import read
from apuhost.steps.order import Part
from deploy import limits


class RootOutput(FactBase[str]):
    """Exact standard output of a script: base64 on the way, since pyinfra splits into lines.

    It is the last line: what a login's own start-up file prints comes before.
    """

    def command(self, script: str) -> StringCommand:
        """The script under sh; its own exit status is not looked at."""
        return StringCommand("sh", "-c", QuoteString(f"echo; {{ {script}\n}} | base64 -w0"))

    def process(self, output: list[str]) -> str:
        """The bytes as text that encodes back to the same bytes."""
        raw = base64.b64decode(output[-1] if output else "")
        return raw.decode("utf-8", errors="surrogateescape")


FRESH_S = 30
"""How old the plan's readings may be when its execution begins: somebody may be asked between."""

# One round trip serves all operations that find nothing to do: what was read stays true until an
# operation of this run changes it.
_readings: dict[str, dict[str, Reading]] = {}
_known: dict[str, Known] = {}
_planned_at: dict[str, float] = {}


def known() -> Known:
    """Settings, Derived and facts of the current host; only what was forgotten is read again.

    Raises:
        ApuhostError: settings that cannot be right, or facts that cannot be read.
    """
    planned_at = _planned_at.pop(host.name, None) if state.is_executing else None
    if planned_at is not None and time.monotonic() - planned_at > FRESH_S:
        forget()
    if host.name not in _known:
        if not state.is_executing:
            _planned_at[host.name] = time.monotonic()
        _known[host.name] = _read(_readings.setdefault(host.name, {}))
    return _known[host.name]


def forget(names: Iterable[str] = DECIDING) -> None:
    """This run is about to change what these probes read on the current host; a plan does not."""
    if not state.is_executing:
        return
    _known.pop(host.name, None)
    for name in names:
        _readings.get(host.name, {}).pop(name, None)


def takes(part: Part) -> bool:
    """Whether the current host takes a part of the deploy; wrong settings `admit` tells."""
    resolved, _ = settings.resolve(host.name, _data())
    return not part.role if resolved is None else part.of(resolved)


def _read(readings: dict[str, Reading]) -> Known:
    return read(host.name, _data(), readings, output)


def output(script: str) -> str:
    """What a script that only reads prints as root on the current host; a hanging one fails it."""
    limits.notice_a_lost(host)
    return str(host.get_fact(RootOutput, script=script, _timeout=HOST_TIMEOUT_S) or "")


def _data() -> dict[str, object]:
    return dict(host.data.dict())  # type: ignore[no-untyped-call]
