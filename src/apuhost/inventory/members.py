"""Groups, hosts and variables as an Ansible inventory's file says them, before they are merged."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from apuhost import ranges
from apuhost.inventory.entries import Value

ALL, UNGROUPED = "all", "ungrouped"

Variables = dict[str, Value]


@dataclass
class Group:
    """One group: its own hosts, and the groups below it with where each is named."""

    hosts: list[str] = field(default_factory=list)
    children: dict[str, str] = field(default_factory=dict)


@dataclass
class Members:
    """All that one file says; filled line by line."""

    groups: dict[str, Group] = field(default_factory=dict)
    variables: dict[str, Variables] = field(default_factory=dict)
    hosts: dict[str, Variables] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def group(self, name: str) -> Group:
        """The group of this name, made where it is first spoken of."""
        return self.groups.setdefault(name, Group())

    def of_group(self, name: str) -> Variables:
        """The group's own variables."""
        return self.variables.setdefault(name, {})

    def add(self, pattern: str, group: str, place: str) -> Iterator[Variables]:
        """The variables of each host that a pattern with ranges means, now in the group."""
        for name in self._names(pattern, place):
            self.places.setdefault(name, place)
            members = self.group(group).hosts
            if name not in members:
                members.append(name)
            yield self.hosts.setdefault(name, {})

    def _names(self, pattern: str, place: str) -> list[str]:
        try:
            return ranges.expanded(pattern)
        except ranges.RangeError as error:
            self.problems.append(f"{place}: {error}")
            return []

    def give(self, variables: Iterable[Variables], key: str, value: Value) -> None:
        """Give a key its value; another one that it has already is a problem."""
        for each in variables:
            before = each.setdefault(key, value)
            if before.value != value.value:
                first = f"first at {before.place}, with another value"
                self.problems.append(f"{value.place}: {key} stands twice, {first}")
