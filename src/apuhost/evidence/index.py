"""facts.json: which host a folder's facts are of, when they were read, by which apuhost.

It also tells whether they are as they were saved: of most texts nobody can see that their end is
gone.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from apuhost.host_facts import HostFacts
from apuhost.inventory import Host
from apuhost.probes import ParseError
from apuhost.probes.json_values import load_object
from apuhost.settings import variables

INDEX = "facts.json"
SHOWN_LENGTH = 60

_SHA256 = re.compile(r"[0-9a-f]{64}")
_VERSION = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6}){1,3}(?![0-9])")


@dataclass(frozen=True)
class Index:
    """`gathered` is a time of RFC 3339, `apuhost` a version, `status` a number for each probe.

    `sha256` is each file's, by probe; None in what was saved before it was recorded.
    """

    host: str
    gathered: str
    apuhost: str
    settings: Mapping[str, Any]
    status: Mapping[str, int]
    sha256: Mapping[str, str] | None

    def fault(self, name: str, raw: bytes) -> str:
        """Why these bytes are not a probe's file as it was saved; "" if they are, or may be."""
        if self.sha256 is None or sha256(raw).hexdigest() == self.sha256.get(name):
            return ""
        return f"is cut or changed: {INDEX} has another SHA-256; copy the folder again"


def of(host: Host, facts: HostFacts, files: Mapping[str, bytes]) -> Index:
    """The index of facts that this apuhost has read, and saves in these files, by probe."""
    return Index(
        host=host.name,
        gathered=facts.gathered,
        apuhost=version("apuhost"),
        settings={key: host.data[key] for key in variables() if key in host.data},
        status={name: reading.status for name, reading in facts.readings.items()},
        sha256={name: sha256(raw).hexdigest() for name, raw in files.items()},
    )


def as_text(index: Index) -> str:
    """The file's text."""
    return json.dumps(asdict(index), indent=2, default=str) + "\n"


def parse(text: str) -> Index:
    """Read the file's text.

    Raises:
        ParseError: it is no JSON object, a field is missing or cannot be right, or a newer apuhost
            wrote it: what its probes print, this one may take for something else.
    """
    told = {"sha256": None, **load_object(text)}
    for name, (right, allowed) in _FIELDS.items():
        if name not in told:
            raise ParseError(f"{name} is missing: {allowed}")
        if not right(told[name]):
            raise ParseError(f"{name} is {_shown(told[name])}: {allowed}")
    own = version("apuhost")
    if _numbers(told["apuhost"]) > _numbers(own):
        raise ParseError(f"saved by apuhost {told['apuhost']}, and this is {own}: update this one")
    return Index(**{name: told[name] for name in _FIELDS})


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and _aware(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        return False


def _aware(time: datetime) -> bool:
    """Whether it names its zone, and a day in UTC."""
    return time.tzinfo is not None and bool(time.astimezone(UTC))


def _is_version(value: object) -> bool:
    return isinstance(value, str) and _VERSION.match(value) is not None


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _are_statuses(value: object) -> bool:
    return isinstance(value, dict) and all(type(each) is int for each in value.values())


def _are_digests(value: object) -> bool:
    return value is None or (
        isinstance(value, dict)
        and all(isinstance(each, str) and _SHA256.fullmatch(each) for each in value.values())
    )


_FIELDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "host": (_is_name, "the host's name, a string"),
    "gathered": (_is_time, 'when the facts were read, as "2026-11-29T09:14:00+00:00"'),
    "apuhost": (_is_version, 'the version that saved them, as "0.1.0"'),
    "settings": (_is_object, "an object, the host's settings"),
    "status": (_are_statuses, "an object, each probe's exit status, a number"),
    "sha256": (_are_digests, "an object, each file's SHA-256, 64 hexadecimal digits"),
}


def _numbers(told: str) -> tuple[int, ...]:
    found = _VERSION.match(told)
    return tuple(map(int, found[0].split("."))) if found else ()


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…"
