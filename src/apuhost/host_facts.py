"""HostFacts: everything the probes read on a host, each a record.

The raw text is kept: it can be saved, loaded elsewhere, and read again by the same parsers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from apuhost.errors import ApuhostError
from apuhost.last_report import LastReport
from apuhost.probes import ParseError
from apuhost.records import Record
from apuhost.records.box import BoxRecords
from apuhost.records.stack import StackRecords
from apuhost.round_trip import Reading


class Unreadable(ApuhostError):
    """A probe's answer is missing or cannot be read: what depends on it is unknown."""


@dataclass(frozen=True)
class HostFacts(BoxRecords, StackRecords):
    """One host's readings. A record is parsed when it is first asked for.

    Every property raises Unreadable when its reading is missing, cut or failed. `last` is what was
    seen when this host was last reported on, where that is known; `saved` tells that each reading
    is a file of a folder, and `lost` why some of these cannot be had.
    """

    host: str
    gathered: str
    readings: Mapping[str, Reading]
    last: LastReport | None = None
    saved: bool = False
    lost: Mapping[str, str] = field(default_factory=dict)

    def _read(self, name: str, parse: Callable[[str], Record]) -> Record:
        reading = self.readings.get(name)
        if reading is None:
            missing = f"{name}.txt is not there" if self.saved else f"{name} was not read"
            raise Unreadable(self.lost.get(name, missing))
        source = f"{name}.txt" if self.saved else name
        if reading.status != 0:
            raise Unreadable(f"{source}: its command failed (exit {reading.status})")
        try:
            return parse(reading.text)
        except ParseError as error:
            raise Unreadable(f"{source}: {error}") from error
