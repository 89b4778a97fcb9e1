"""What an inventory file gives that is no list of hosts, or that pyinfra takes for one."""

import ast
from collections.abc import Iterator
from difflib import get_close_matches

from apuhost.inventory import written
from apuhost.nearest import hint
from apuhost.settings import lists, variables
from apuhost.settings.connection import PYINFRA_KEYS
from apuhost.settings.destination import parts, why_no_name

HINT = 'a host is "name" or ("name", {"key": value}), reached over ssh or as "@local"'
_KEYS = frozenset((*variables(), *PYINFRA_KEYS))
_USUAL = ("hosts", "all")
"""Names that nobody gives to a list of anything else."""

# `models` for models_list, `users` for vulkan_users: what settings are called among people.
_CALLED = frozenset(
    {"models", *lists(), *(key.partition("_")[2] for key in lists() if not key.endswith("_list"))}
)
_NEAR = 0.85
"""difflib's ratio: `model_list` is near models_list, `hosts` is not near host_roles."""


def values(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """`name: value`, as YAML has it: Python takes the value for a type, and gives none."""
    for node in tree.body:
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=name),
                value=None,
                annotation=ast.List() | ast.Dict() | ast.Tuple() | ast.Set() | ast.UnaryOp(),
            ):
                yield node.lineno, f"{name} gets no value by a colon: write {name} = ..."
            case ast.AnnAssign(
                target=ast.Name(id=name), value=None, annotation=ast.Constant() as value
            ):
                yield node.lineno, f"{name} gets no value: write {name} = {ast.unparse(value)}"


def hosts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What pyinfra passes over in silence, or takes for other hosts, or does not explain."""
    for name, statement in written.assigned(tree):
        sentence = _name(tree, name, statement)
        if sentence:
            yield statement.lineno, sentence
    for name, listed in written.lists(tree):
        if _is_setting(tree, name, listed):
            yield listed.lineno, taken(name)
    for item in written.items(tree):
        sentence = _item(item)
        if sentence:
            yield item.lineno, sentence


def taken(name: str) -> str:
    """That pyinfra takes a list for hosts, and where it belongs instead."""
    return f"{name} is taken for a group of hosts; {_elsewhere(name)}"


def mixed(name: str) -> str:
    """That pyinfra passes over a list, for something in it."""
    return f"{name} holds something that is no host: {HINT}; {_elsewhere(name)}"


def _elsewhere(name: str) -> str:
    own = f"a list of the file's own is called _{name}"
    return f"settings go in a host's dict or group_data; {own}"


def _name(tree: ast.Module, name: str, statement: ast.Assign | ast.AnnAssign) -> str:
    value = statement.value
    if _is_key(name, value) and name not in _used(tree):
        near = "" if name in _KEYS else hint(name, _KEYS)
        words = f"{name}{near} does nothing here: put it into group_data/all.py beside this file"
        return f"{words}, or into a host's own data"
    if name in _USUAL and isinstance(value, ast.Dict | ast.Set):
        return f"{name} is no list: {HINT}"
    if not name.startswith("_") and _is_one_host(value):
        # Each letter of the name would be a host.
        return f"{name} is no list: put [ ] around it, or call it _{name}"
    return ""


def _is_key(name: str, value: ast.expr | None) -> bool:
    """Whether it is a setting's name, or one misspelt that holds no list, which may be hosts."""
    return name in _KEYS or (
        not name.startswith("_")
        and isinstance(value, ast.Constant | ast.Dict)
        and bool(get_close_matches(name, _KEYS, n=1, cutoff=_NEAR))
    )


def _used(tree: ast.Module) -> set[str]:
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _is_one_host(value: ast.expr | None) -> bool:
    match value:
        case ast.Tuple(elts=[ast.Constant(value=str()), *_]):
            return True
    return False


def _item(item: ast.expr) -> str:
    match item:
        case ast.Constant(value="") | ast.Tuple(elts=[ast.Constant(value=""), *_]):
            return f"a host's name is empty: {HINT}"
        case ast.Tuple(elts=[ast.Constant(value=str(name)), _, _, *_]):
            return f"{name} has more than its data: {HINT}"
        case ast.Tuple(elts=[ast.Constant(value=str(name)), data]) if _is_plain(data):
            return f"{name} has data that are no names with values: {HINT}"
    return ""


def _is_plain(data: ast.expr) -> bool:
    """Whether it is written out, and is no dict."""
    return isinstance(data, ast.Constant | ast.List | ast.Tuple | ast.Set | ast.ListComp)


def _is_setting(tree: ast.Module, name: str, listed: ast.List) -> bool:
    """Whether a list that pyinfra takes for hosts is the value of a setting."""
    if name in _USUAL or not listed.elts:
        return False
    if name in _values_of_settings(tree) or any(isinstance(e, ast.Dict) for e in listed.elts):
        return True
    names = [item.value for item in listed.elts if isinstance(item, ast.Constant)]
    texts = [each for each in names if isinstance(each, str) and each]
    if len(texts) < len(listed.elts):
        return False
    called = get_close_matches(name, _CALLED, n=1, cutoff=_NEAR)
    if called and not set(texts) <= _hosts_of_others(tree, name):
        return True
    return all(why_no_name(each) and not parts(each) for each in texts)


def _values_of_settings(tree: ast.Module) -> set[str]:
    """Names that stand in the value of a setting: `("box1", {"vulkan_users": users})`."""
    return {
        part.id
        for key, value in _pairs(tree)
        if key in _KEYS
        for part in ast.walk(value)
        if isinstance(part, ast.Name)
    }


def _pairs(tree: ast.Module) -> Iterator[tuple[object, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword):
            yield node.arg, node.value
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                yield getattr(key, "value", None), value


def _hosts_of_others(tree: ast.Module, name: str) -> set[str | None]:
    return {
        written.host(item)
        for other, listed in written.lists(tree)
        if other != name
        for item in listed.elts
    }
