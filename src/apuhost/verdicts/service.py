"""The ollama service as our compose file describes it, and its container.

Compose files of other people stay on their hosts; docker tells what it made of them.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import yaml

from apuhost.changes import compose
from apuhost.derived import Derived
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.probes.containers import Container

MOST_CHARACTERS = 64 * 1024
"""Ours has two thousand; a larger one is not read to its end."""


class _WithoutAliases(yaml.SafeLoader):
    """Ours has none, and a few lines with aliases may stand for gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


def container(derived: Derived, facts: HostFacts) -> Container:
    """Ollama's container.

    Raises:
        Unreadable: there is none (ollama.container says so as a failure).
    """
    name = derived.settings.ollama.ollama_container_name
    found = facts.containers.named(name)
    if found is None:
        raise Unreadable(f"there is no container {name}")
    return found


def written(facts: HostFacts) -> Mapping[str, Any]:
    """The service in the file as it is; {} without a file, or when it is none of compose's."""
    return read(facts.compose.text(compose.PATH) or "")


def wanted(derived: Derived, facts: HostFacts) -> Mapping[str, Any]:
    """The service in the file as it should be."""
    return read(compose.rendered(compose.PATH, derived, facts))


def read(text: str) -> Mapping[str, Any]:
    """The service of a compose file's text; {} when there is none in it."""
    services = _document(text).get("services")
    found = services.get(compose.SERVICE) if isinstance(services, dict) else None
    return found if isinstance(found, dict) else {}


def parts(text: str) -> dict[str, object]:
    """Every part of a file by its name: of our service, of the project, and other services."""
    document = dict(_document(text))
    services = document.pop("services", {})
    others = services if isinstance(services, dict) else {}
    named = {f"service {name}": part for name, part in others.items() if name != compose.SERVICE}
    return {**read(text), **{f"project's {key}": part for key, part in document.items()}, **named}


@lru_cache(maxsize=16)
def _document(text: str) -> Mapping[str, Any]:
    """Several verdicts ask for the same text, and YAML takes its time."""
    if len(text) > MOST_CHARACTERS:
        return {}
    try:
        document = yaml.load(text, _WithoutAliases)  # noqa: S506  (a SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def environment(service: Mapping[str, Any]) -> dict[str, str]:
    """The variables of a service, given as an object or as a list, as compose passes them on."""
    given = service.get("environment")
    if isinstance(given, dict):
        return {str(name): text(value) for name, value in given.items()}
    listed = given if isinstance(given, list) else []
    return {name: value for name, _, value in (str(each).partition("=") for each in listed)}


def text(value: object) -> str:
    """A value of a compose file as text: YAML's booleans in small letters, nothing for null."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
