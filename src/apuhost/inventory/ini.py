"""An Ansible inventory in INI form: `[group]`, `[group:children]`, `[group:vars]`."""

import ast
import re
import shlex
from pathlib import Path

from apuhost.inventory import entries
from apuhost.inventory.entries import Value, place
from apuhost.inventory.members import UNGROUPED, Members
from apuhost.nearest import hint

_SECTION = re.compile(r"\[([^:\]\s]+)(?::(\w+))?\]\s*(?:[#;].*)?")
_PORT = re.compile(r"(?P<name>(?:[^:\[\]]|\[[^\]]*\])+):(?P<port>[0-9]{1,5})")
_KINDS = ("", "children", "vars")


def read(file: Path) -> Members:
    """What the file says; what it cannot say is among its problems."""
    found = Members()
    group, kind = UNGROUPED, ""
    for number, line in enumerate(entries.text(file).splitlines(), 1):
        text, where = line.strip(), place(file, number)
        if not text or text[0] in "#;":
            continue
        section = _SECTION.fullmatch(text)
        if section:
            group, kind = section[1], section[2] or ""
            _begin(found, group, kind, where)
        else:
            _line(found, group, kind, text, where)
    return found


def _begin(found: Members, group: str, kind: str, where: str) -> None:
    if kind == "vars":
        found.of_group(group)
    elif kind in _KINDS:
        found.group(group)
    else:
        found.problems.append(f"{where}: [{group}:{kind}] is no section{hint(kind, _KINDS)}")


def _line(found: Members, group: str, kind: str, text: str, where: str) -> None:
    if kind == "vars":
        _variable(found, group, text, where)
    elif kind == "children":
        found.group(group).children.setdefault(text.partition("#")[0].strip(), where)
    elif not kind:
        _host(found, group, text, where)


def _variable(found: Members, group: str, text: str, where: str) -> None:
    key, equals, value = text.partition("=")
    if not equals:
        found.problems.append(f"{where}: no = in it: a line of [{group}:vars] is KEY=VALUE")
        return
    given = Value(_value(value.strip()), where)
    found.give([found.of_group(group)], key.strip(), given)


def _host(found: Members, group: str, text: str, where: str) -> None:
    try:
        pattern, *pairs = shlex.split(text, comments=True)
    except ValueError as error:
        found.problems.append(f"{where}: {error}".replace("No closing", "no closing"))
        return
    port = _PORT.fullmatch(pattern)
    if port:
        pattern, pairs = port["name"], [*pairs, f"ansible_port={port['port']}"]
    hosts = [*found.add(pattern, group, where)]
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            found.problems.append(f"{where}: {pair} is no KEY=VALUE behind {pattern}")
        else:
            found.give(hosts, key, Value(_value(value), where))


def _value(text: str) -> object:
    """As Ansible reads it: a Python literal where it is one, else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text
