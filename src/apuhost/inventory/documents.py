"""YAML (and so JSON) files of an Ansible inventory: its groups, and files of variables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from apuhost.inventory import entries
from apuhost.inventory.entries import Unread, Value, place
from apuhost.inventory.members import Members
from apuhost.inventory.syntax import InventoryError, shown
from apuhost.nearest import hint

VAULT = "$ANSIBLE_VAULT"
ENCRYPTED = "encrypted by Ansible Vault, which apuhost does not open"
WRITE = "write it down once: ansible-inventory -i INVENTORY --list --yaml --output hosts.yml"

_NO_HOSTS = {"plugin": "the settings of a plugin", "_meta": "what a script prints"}
_KEYS = ("hosts", "children", "vars")
_TAGS = {"!vault": f"is {ENCRYPTED}", "!unsafe": "is !unsafe: write it without that tag"}
_DAY = "tag:yaml.org,2002:timestamp"
_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """As SafeLoader, but days stay text, as in JSON and Python, and `<<` leaves no twins."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge in what `<<` names, in place: own keys win, then the earlier of several mappings.

        So yaml.org/type/merge.html. PyYAML keeps what gave way, which an alias then shows as twins,
        and 6.0.4 takes two equal keys for one only where they are one object.
        """
        written, sources = node.value, _merged_in(node)
        node.value = [pair for pair in written if pair[0].tag != _MERGE]  # it may name itself
        merged: dict[object, tuple[yaml.Node, yaml.Node]] = {}
        try:
            for each in reversed(sources):
                self.flatten_mapping(each)
                merged |= {_identity(key): (key, value) for key, value in each.value}
        except ConstructorError:
            node.value = written  # an alias is as wrong
            raise
        own = {_identity(key) for key, _ in node.value}
        node.value += [pair for name, pair in merged.items() if name not in own]
        super().flatten_mapping(node)


def _merged_in(node: yaml.MappingNode) -> list[yaml.MappingNode]:
    """What `<<` names: a mapping, or a list of them."""
    values = [value for key, value in node.value if key.tag == _MERGE]
    if len(values) > 1:
        told = "stands twice: write `<<: [*first, *second]`"
        raise ConstructorError(None, None, told, node.start_mark)
    lists = [each.value if isinstance(each, yaml.SequenceNode) else [each] for each in values]
    named = [each for listed in lists for each in listed]
    if not all(isinstance(each, yaml.MappingNode) for each in named):
        told = "names no mapping, and no list of mappings"
        raise ConstructorError(None, None, told, node.start_mark)
    return named


def _identity(key: yaml.Node) -> object:
    return (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else id(key)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _DAY]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(file: Path) -> Members:
    """The groups, hosts and variables of an inventory."""
    found = Members()
    document = Document(file, found.problems)
    try:
        for name, line, node in document.pairs(document.root):
            if name in _NO_HOSTS:
                found.problems.append(f"{place(file, line)}: {_NO_HOSTS[name]}, no hosts: {WRITE}")
                break
            _group(document, found, name, node)
    except RecursionError as error:  # an anchor may hold itself
        raise InventoryError(f"{shown(file)}: its groups have no end") from error
    return found


def variables(file: Path, problems: list[str]) -> dict[str, Value]:
    """What a file of group_vars or host_vars gives; what cannot be read joins the problems."""
    document = Document(file, problems)
    return document.values(document.root)


class Document:
    """One file's tree; its faults are told with their lines."""

    def __init__(self, file: Path, problems: list[str]) -> None:
        text = entries.text(file)
        self.file, self._problems = file, problems
        self.root: yaml.Node | None = None
        if text.startswith(VAULT):
            problems.append(f"{shown(file)}: {ENCRYPTED}")
            return
        try:
            self._loader = _Loader(text)
            self.root = self._loader.get_single_node()
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            told = f"no YAML: it may not have the character U+{error.character:04X}"
            raise InventoryError(f"{place(file, line)}: {told}") from error
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise InventoryError(f"{place(file, line)}: no YAML: {error.problem}") from error
        except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
            raise InventoryError(f"{shown(file)}: no YAML: {error}") from error

    def pairs(self, node: yaml.Node | None) -> Iterator[tuple[str, int, yaml.Node]]:
        """Keys of a mapping, each with its line and value; nothing gives none."""
        if node is None or _is_empty(node):
            return
        if not isinstance(node, yaml.MappingNode):
            kind = "a list (a playbook?)" if isinstance(node, yaml.SequenceNode) else "a text"
            self._problem(node, f"{kind}, where names with values belong")
            return
        try:
            self._loader.flatten_mapping(node)
        except ConstructorError as error:
            self._problem(node, f"<< {error.problem}")
            return
        self._told_twice(node)
        for key, value in node.value:
            yield str(self._value(key)), key.start_mark.line + 1, value

    def _told_twice(self, node: yaml.MappingNode) -> None:
        seen: dict[str, int] = {}
        for key, _ in node.value:
            name = str(self._value(key))
            if name in seen:
                self._problem(key, f"{name} stands twice, first in line {seen[name]}")
            seen.setdefault(name, key.start_mark.line + 1)

    def values(self, node: yaml.Node | None) -> dict[str, Value]:
        """A mapping's values."""
        return {
            name: Value(self._value(value), place(self.file, line))
            for name, line, value in self.pairs(node)
        }

    def _value(self, node: yaml.Node) -> Any:  # noqa: ANN401  (whatever YAML may say)
        if tag := _tag(node):
            return Unread(_TAGS[tag])
        try:
            return self._loader.construct_object(node, deep=True)
        except yaml.MarkedYAMLError as error:
            return Unread(f"cannot be read: {error.problem}")
        except Exception as error:  # PyYAML lets through what `!!timestamp x` and the like raise
            return Unread(f"cannot be read: {error}")

    def _problem(self, node: yaml.Node, sentence: str) -> None:
        where = place(self.file, node.start_mark.line + 1)
        self._problems.append(f"{where}: {sentence}")


def _tag(node: yaml.Node) -> str:
    """The tag of Ansible's that a value or a part of it has, "" where there is none."""
    nodes, seen = [node], set[int]()
    while nodes:
        each = nodes.pop()
        if each.tag in _TAGS:
            return str(each.tag)
        if id(each) not in seen and isinstance(each, yaml.CollectionNode):
            seen.add(id(each))  # an anchor may hold itself
            parts = (part if isinstance(part, tuple) else (part,) for part in each.value)
            nodes += [inner for part in parts for inner in part]
    return ""


def _is_empty(node: yaml.Node) -> bool:
    return node.tag == "tag:yaml.org,2002:null"


def _group(document: Document, found: Members, name: str, node: yaml.Node) -> None:
    group = found.group(name)
    for key, at, value in document.pairs(node):
        if key == "hosts":
            _hosts(document, found, name, value)
        elif key == "children":
            for child, below, inner in document.pairs(value):
                group.children.setdefault(child, place(document.file, below))
                _group(document, found, child, inner)
        elif key == "vars":
            for variable, given in document.values(value).items():
                found.give([found.of_group(name)], variable, given)
        else:
            told = f"{key} is no part of the group {name}{hint(key, _KEYS)}"
            found.problems.append(f"{place(document.file, at)}: {told}: hosts, children or vars")


def _hosts(document: Document, found: Members, group: str, node: yaml.Node) -> None:
    for pattern, line, value in document.pairs(node):
        hosts = [*found.add(pattern, group, place(document.file, line))]
        for key, given in document.values(value).items():
            found.give(hosts, key, given)
