"""What a deploy knows of the host it runs on: its settings and its facts, read when needed."""

import base64
import time
from collections.abc import Iterable, Sequence

from pyinfra import host, state
from pyinfra.api.arguments import CONNECTOR_ARGUMENT_KEYS, pop_global_arguments
from pyinfra.api.command import QuoteString, StringCommand

from apuhost import settings
from apuhost.gather import HOST_TIMEOUT_S, reason
from apuhost.round_trip import DECIDING, Reading
from apuhost.steps import Known, StepFailed
from apuhost.steps.known import read
from apuhost.steps.order import Part
from deploy import limits

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
    """What a script that only reads prints as root on the current host, exactly.

    Not a fact of pyinfra's: one that fails ends the run for all where no other host is left, and
    its log repeats the whole script.

    Raises:
        StepFailed: it has no end, or cannot be run as root.
    """
    ended = limits.within(host, HOST_TIMEOUT_S, "a script that only reads", lambda: _run(script))
    if not ended.done:
        raise StepFailed(f"nothing was read: {ended.cut_off or _why(ended.said.stderr)}")
    return decoded(ended.said.stdout_lines)


def encoded(script: str) -> StringCommand:
    """The script under sh, its output as base64, since pyinfra splits into lines.

    The script's own exit status is not looked at.
    """
    return StringCommand("sh", "-c", QuoteString(f"echo; {{ {script}\n}} | base64 -w0"))


def decoded(lines: Sequence[str]) -> str:
    """The bytes as text that encodes back to the same bytes.

    They are the last line: what a login's own start-up file prints comes before.
    """
    raw = base64.b64decode(lines[-1] if lines else "")
    return raw.decode("utf-8", errors="surrogateescape")


def _run(script: str) -> limits.Done:
    given, _ = pop_global_arguments(state, host, {})
    arguments = {key: value for key, value in given.items() if key in CONNECTOR_ARGUMENT_KEYS}
    return host.run_shell_command(
        encoded(script),
        print_output=state.print_fact_output,
        print_input=state.print_fact_input,
        **arguments,
    )


def _why(stderr: str) -> str:
    return reason(1, stderr) if stderr.strip() else "no word about why"


def _data() -> dict[str, object]:
    return dict(host.data.dict())  # type: ignore[no-untyped-call]
