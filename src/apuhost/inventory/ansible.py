"""Hosts from an existing Ansible inventory, with group_vars and host_vars beside it.

Merged as Ansible does it (its documentation: Understanding variable precedence): the variables of
groups in the file, group_vars/all, group_vars of groups, a host's own in the file, host_vars.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from apuhost.inventory import documents, entries, ini, vocabulary
from apuhost.inventory.entries import Entry, Listed, Value
from apuhost.inventory.members import ALL, UNGROUPED, Members, Variables
from apuhost.inventory.syntax import shown
from apuhost.nearest import hint

YAML = (".yml", ".yaml", ".json")
INI = (".ini", "")
_FIRST_OF_YAML = ("---", "{")
_PRIORITY = "ansible_group_priority"
_NO_VALUE = Value(1, "")


def read(file: Path) -> Listed:
    """The hosts of the inventory, their values under apuhost's names.

    Raises:
        InventoryError: every problem of it, a line each.
    """
    members = (documents if _is_yaml(file) else ini).read(file)
    members.problems += _unknown_groups(members)
    entries.refuse(members.problems)
    groups = _Groups(members)
    beside = _Beside(file.resolve().parent, members.problems)
    found = [_entry(name, members, groups, beside) for name in members.hosts]
    entries.refuse(members.problems)
    return Listed(tuple(found), tuple(filter(_is_listed, members.groups)))


def _is_yaml(file: Path) -> bool:
    """By the name; without a suffix as it looks: a list of groups ends its first line with `:`."""
    if file.suffix:
        return file.suffix.lower() in YAML
    lines = (line.strip() for line in entries.text(file).splitlines())
    first = next((line for line in lines if line and line[0] not in "#;"), "")
    return first.startswith(_FIRST_OF_YAML) or (first.endswith(":") and not first.startswith("["))


def _unknown_groups(members: Members) -> Iterator[str]:
    """Groups that something is said of, and that are not there; and those that hold themselves."""
    known = {ALL, UNGROUPED, *members.groups}
    for unknown, given in members.variables.items():
        for value in list(given.values())[:1] if unknown not in known else ():
            yield f"{value.place}: no group is called {unknown}{hint(unknown, known)}"
    for name, group in members.groups.items():
        for child, place in group.children.items():
            if child not in known:
                yield f"{place}: no group is called {child}{hint(child, known)}"
            elif name in _below(members, child, set()):
                yield f"{place}: {child} is below {name}, which is below it"


def _below(members: Members, name: str, seen: set[str]) -> set[str]:
    """The group and all below it."""
    if name not in seen and name in members.groups:
        seen.add(name)
        for child in members.groups[name].children:
            _below(members, child, seen)
    return seen


class _Groups:
    """Which groups a host is in, the outermost first."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._parents: dict[str, list[str]] = {}
        for name, group in members.groups.items():
            for child in group.children:
                self._parents.setdefault(child, []).append(name)

    def of(self, host: str) -> list[str]:
        """All of them but `all`; of two that are as deep the later in the alphabet wins."""
        own = [name for name, group in self._members.groups.items() if host in group.hosts]
        found: set[str] = set()
        while own:
            name = own.pop()
            found.add(name)
            own += [each for each in self._parents.get(name, []) if each not in found]
        return sorted(found - {ALL}, key=lambda name: (self._depth(name), self._rank(name), name))

    def _depth(self, name: str) -> int:
        above = [each for each in self._parents.get(name, []) if each != ALL]
        return 1 + max(map(self._depth, above), default=0)

    def _rank(self, name: str) -> int:
        priority = self._members.variables.get(name, {}).get(_PRIORITY, _NO_VALUE).value
        return priority if isinstance(priority, int) else 1


class _Beside:
    """The files of group_vars and host_vars, each read once."""

    def __init__(self, folder: Path, problems: list[str]) -> None:
        self._folder, self._problems = folder, problems
        self._read: dict[tuple[str, str], Variables] = {}

    def of(self, kind: str, name: str) -> Variables:
        """What kind/name.yml gives, or the files of a folder of that name."""
        if (kind, name) not in self._read:
            found: Variables = {}
            for file in self._files(kind, name):
                found |= documents.variables(file, self._problems)
            self._read[kind, name] = found
        return self._read[kind, name]

    def _files(self, kind: str, name: str) -> list[Path]:
        named = [self._folder / kind / f"{name}{suffix}" for suffix in ("", *YAML)]
        there = [each for each in named if each.exists()]
        for other in there[1:]:
            told = f"Ansible takes {there[0].name} and passes over it: make one of the two"
            self._problems.append(f"{shown(other)}: {told}")
        if not there or there[0].is_file():
            return there[:1]
        inner = sorted(each for each in there[0].rglob("*") if each.is_file())
        return [each for each in inner if _is_read(each.relative_to(there[0]))]


def _is_read(path: Path) -> bool:
    """Ansible passes over hidden files, backups and other suffixes."""
    hidden = any(part.startswith(".") for part in path.parts) or path.name.endswith("~")
    return not hidden and path.suffix in ("", *YAML)


def _entry(name: str, members: Members, groups: _Groups, beside: _Beside) -> Entry:
    within = groups.of(name)
    layers: Iterable[Mapping[str, Value]] = (
        *(members.variables.get(group, {}) for group in (ALL, *within)),
        *(beside.of("group_vars", group) for group in (ALL, *within)),
        members.hosts[name],
        beside.of("host_vars", name),
    )
    merged: Variables = {}
    for layer in layers:
        merged |= layer
    values = vocabulary.translated(merged, members.problems)
    return Entry(name, members.places[name], tuple(filter(_is_listed, within)), values)


def _is_listed(group: str) -> bool:
    return group not in (ALL, UNGROUPED)
