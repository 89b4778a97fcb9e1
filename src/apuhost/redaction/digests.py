"""Digests of what a mask has changed: files of models, of mirrors, and those of the container."""

import re
from collections.abc import Iterator, Mapping

from apuhost.changes import compose
from apuhost.derived import derive
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.inventory import Host
from apuhost.probes.model_manifest import sha256
from apuhost.redaction.texts import frames
from apuhost.settings import resolve

_DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_HASHED = ("model_store", "mirror")

Read = tuple[Host, HostFacts]


def digests(before: Read, after: Read) -> Mapping[str, str]:
    """Return the digests that are others now, by the old ones."""
    pairs = (*_of_files(before[1], after[1]), (_made_from(before), _made_from(after)))
    return {old: new for old, new in pairs if old and new and old != new}


def with_digests(text: str, changed: Mapping[str, str]) -> str:
    """Return the text with the new digests in it, which are as long as the old ones."""
    return _DIGEST.sub(lambda found: changed.get(found[0], found[0]), text)


def _of_files(before: HostFacts, after: HostFacts) -> Iterator[tuple[str, str]]:
    for name in before.readings.keys() & _HASHED:
        texts = (frames(facts.readings[name].text) for facts in (before, after))
        for old, new in zip(*texts, strict=True):
            yield sha256(old), sha256(new)


def _made_from(read: Read) -> str | None:
    host, facts = read
    settings, _ = resolve(host.name, host.data)
    if settings is None:
        return None
    try:
        return compose.made_from(derive(settings, facts), facts)
    except Unreadable:
        return None
