"""What is known of a host while its steps are taken: read when needed, in one round trip."""

import secrets
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any

from apuhost import settings
from apuhost.derived import derive
from apuhost.errors import ApuhostError
from apuhost.host_facts import HostFacts
from apuhost.round_trip import DECIDING, Reading, script, unframe
from apuhost.steps import Known


def read(
    host: str,
    data: Mapping[str, Any],
    readings: MutableMapping[str, Reading],
    ask: Callable[[str], str],
) -> Known:
    """What a host's data and readings come to; readings that are not there are read and kept.

    Args:
        host: its name.
        data: what the inventory says of it.
        readings: what was read of it.
        ask: runs a script on the host, and returns what it prints.

    Raises:
        ApuhostError: settings that cannot be right, or facts that cannot be read.
    """
    resolved, problems = settings.resolve(host, data)
    if resolved is None:
        raise ApuhostError("; ".join(problem.sentence for problem in problems))
    if due := [name for name in DECIDING if name not in readings]:
        mark = f"==apuhost-{secrets.token_hex(8)}=="
        readings.update(unframe(mark, ask(script(mark, due))))
    gathered = datetime.now(UTC).isoformat(timespec="seconds")
    facts = HostFacts(host, gathered, dict(readings))
    return Known(resolved, derive(resolved, facts), facts)
