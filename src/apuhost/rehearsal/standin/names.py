"""Names of models: host, namespace, model and tag, with Ollama's defaults and limits.

facts/ollama.md section 5.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_HOST, _NAMESPACE, _TAG, _SCHEME = "registry.ollama.ai", "library", "latest", "https"
_MISSING = "!MISSING!"  # a part that a separator promised; no valid name holds it
_RULES = (
    re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}"),  # host
    re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,79}"),  # namespace
    re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}"),  # model
    re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}"),  # tag
)
_PARTS = len(_RULES)


@dataclass(frozen=True)
class Name:
    """A model's name in its four parts, perhaps an invalid one."""

    host: str
    namespace: str
    model: str
    tag: str
    scheme: str = _SCHEME

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """In the order of the manifest's path."""
        return self.host, self.namespace, self.model, self.tag

    @property
    def valid(self) -> bool:
        """All parts are there and well formed."""
        return all(rule.fullmatch(part) for rule, part in zip(_RULES, self.parts, strict=True))

    @property
    def path(self) -> Path:
        """Where its manifest is, under the store's `manifests`."""
        return Path(*self.parts)

    @property
    def full(self) -> str:
        """All four parts."""
        return f"{self.host}/{self.namespace}/{self.model}:{self.tag}"

    @property
    def shortest(self) -> str:
        """Without the default host and namespace, always with the tag."""
        if self.host.lower() != _HOST:
            return self.full
        if self.namespace.lower() != _NAMESPACE:
            return f"{self.namespace}/{self.model}:{self.tag}"
        return f"{self.model}:{self.tag}"

    @property
    def repository(self) -> str:
        """What stands after /v2/ at the registry."""
        return f"{self.namespace}/{self.model}"


def parse(text: str) -> Name:
    """A name as people write it; parts left out get their defaults."""
    tag = scheme = ""
    if text.rfind(":") > text.rfind("/"):
        text, tag = _cut(text, ":")
    namespace = host = ""
    model = text
    if "/" in text:
        namespace, model = _cut(text, "/")
    if "/" in namespace:
        host, namespace = _cut(namespace, "/")
        scheme, divider, rest = host.partition("://")
        host, scheme = (rest, scheme) if divider else (host, "")
    return Name(host or _HOST, namespace or _NAMESPACE, model, tag or _TAG, scheme or _SCHEME)


def from_path(path: Path) -> Name | None:
    """The name that a manifest's path (relative to `manifests`) stands for, if for any."""
    if len(path.parts) != _PARTS:
        return None
    name = Name(*path.parts)
    return name if name.valid else None


def _cut(text: str, divider: str) -> tuple[str, str]:
    before, _, after = text.rpartition(divider)
    return before or _MISSING, after or _MISSING
