"""`apuhost facts`: saves what the probes read."""

import secrets
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from apuhost import evidence, inventory, redaction
from apuhost.gather import Unreachable, gather
from apuhost.redaction import Read
from apuhost.report import visible
from apuhost.round_trip import PROBES, SAVED_PROBES
from apuhost.settings import resolve
from apuhost.verdicts.host import verdicts

KEY_BYTES = 32

Change = Callable[[Sequence[Read]], Iterable[Read]]


def run(path: Path, limits: Sequence[str], output: Path, change: Change) -> int:
    """Save every host's facts under `output`, changed first; 2 when a host was not reached."""
    hosts = inventory.load(path, limits)
    inventory.settings(path, hosts)
    evidence.check(output)
    facts = gather(hosts, (*PROBES, *SAVED_PROBES))
    read, status = [], 0
    for host in hosts:
        found = facts[host.name]
        if isinstance(found, Unreachable):
            print(visible(f"{host.name}  not reached: {found}"), file=sys.stderr)
            status = 2
        else:
            read.append((host, found))
    for (host, _), changed in zip(read, change(read), strict=True):
        print(f"{host.name}  {evidence.save(output, *changed)}")
    return status


def as_read(read: Sequence[Read]) -> Sequence[Read]:
    """The facts as they are."""
    return read


def redacted(read: Sequence[Read]) -> Sequence[Read]:
    """The facts with masks, and a line on stderr for each host that is judged differently then."""
    masked = redaction.redacted(read, secrets.token_bytes(KEY_BYTES))
    for before, after in zip(read, masked, strict=True):
        if others := _judged(before) ^ _judged(after):
            ids = ", ".join(sorted({verdict_id for verdict_id, *_ in others}))
            said = f"{before[0].name}  judged differently with masks: {ids}"
            print(visible(said), file=sys.stderr)
    return masked


def _judged(read: Read) -> set[tuple[str, ...]]:
    host, facts = read
    settings, problems = resolve(host.name, host.data)
    if settings is None:
        return {(problem.key,) for problem in problems}
    return {(each.id, each.status, str(each.layer)) for each in verdicts(settings, facts)}
