"""facts.json: which host a folder's facts are of, when they were read, by which apuhost."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from apuhost.host_facts import HostFacts
from apuhost.inventory import Host
from apuhost.probes import ParseError
from apuhost.probes.json_values import load_object
from apuhost.settings import variables

INDEX = "facts.json"
SHOWN_LENGTH = 60

_VERSION = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6}){1,3}(?![0-9])")


@dataclass(frozen=True)
class Index:
    """`gathered` is a time of RFC 3339, `apuhost` a version, `status` a number for each probe."""

    host: str
    gathered: str
    apuhost: str
    settings: Mapping[str, Any]
    status: Mapping[str, int]


def of(host: Host, facts: HostFacts) -> Index:
    """The index of facts that this apuhost has read."""
    return Index(
        host=host.name,
        gathered=facts.gathered,
        apuhost=version("apuhost"),
        settings={key: host.data[key] for key in variables() if key in host.data},
        status={name: reading.status for name, reading in facts.readings.items()},
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
    told = load_object(text)
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


_FIELDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "host": (_is_name, "the host's name, a string"),
    "gathered": (_is_time, 'when the facts were read, as "2026-11-29T09:14:00+00:00"'),
    "apuhost": (_is_version, 'the version that saved them, as "0.1.0"'),
    "settings": (_is_object, "an object, the host's settings"),
    "status": (_are_statuses, "an object, each probe's exit status, a number"),
}


def _numbers(told: str) -> tuple[int, ...]:
    found = _VERSION.match(told)
    return tuple(map(int, found[0].split("."))) if found else ()


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…"
