"""docs/settings.md: every setting, what it may be, its default and the reason for the default.

`make docs` writes it, and a README for every role. The words stand with the roles:
meta/argument_specs.yml says what a variable may be, the comment above its default says why.
"""

import json
import sys
from collections.abc import Iterator

from apuhost import roles

HEAD = """\
# Settings

<!-- Written by `make docs` from roles/*/defaults, roles/*/meta. -->

A setting is a key of a host in an inventory file, or a name in `group_data/`:

- a host's own value: `hosts = [("minipc", {"kernel_gtt_gib": 48})]` in `inventories/minipc.py`
- a group's value: `kernel_gtt_gib = 48` in `group_data/GROUP.py` beside the inventory
- every host's value: the same line in `group_data/all.py`
- the role's default, where nobody says anything

The first of these that has a value wins, and it wins whole: a list is not joined to another list.
A wrong key, type or value is reported with its file and host before any host is contacted.
Keys of pyinfra (`ssh_user`, `_sudo`, ...) may stand beside them; [controller.md](controller.md)
has those that matter.
"""

README = """\
# The role {role}

<!-- Written by `make docs` from defaults/main.yml and meta/argument_specs.yml. -->

{described}

| variable | type | default | what it may be |
|---|---|---|---|
{rows}

The reason for each default: [docs/settings.md](../../docs/settings.md). How Ansible takes the
roles: [docs/ansible.md](../../docs/ansible.md).
"""


def page() -> str:
    """The whole of docs/settings.md.

    Raises:
        RoleError: a role's file is missing or is not what Ansible would read.
    """
    titles = {role: f"The role {role}" for role in roles.names()} | {roles.HOST: "The host itself"}
    entries = (entry for role, title in titles.items() for entry in _role(role, title))
    return "\n".join((HEAD, *entries))


def readme(role: str) -> str:
    """A role's README.md: its variables, as Ansible takes them.

    Raises:
        RoleError: a role's file is missing or is not what Ansible would read.
    """
    described, what, types = roles.described(role), roles.descriptions(role), roles.types(role)
    rows = (
        f"| `{name}` | {types[name]} | `{_in_yaml(default)}` | {what[name]} |"
        for name, default in roles.defaults(role).items()
    )
    return README.format(role=role, described=described, rows="\n".join(rows))


def reasons(defaults: str) -> dict[str, str]:
    """The comment right above each variable of a defaults/main.yml, by variable."""
    found: dict[str, str] = {}
    comment: list[str] = []
    for line in defaults.splitlines():
        if line.startswith("#"):
            comment.append(line.removeprefix("#").strip())
            continue
        if line[:1].isalpha():
            found[line.partition(":")[0]] = "\n".join(comment)
        comment = []
    return found


def _role(role: str, title: str) -> Iterator[str]:
    text = (roles.folder() / role / "defaults" / "main.yml").read_text(encoding="utf-8")
    why, allowed = reasons(text), roles.descriptions(role)
    yield f"## {title}\n"
    for name, default in roles.defaults(role).items():
        yield _entry(name, allowed[name], default, why.get(name, ""))


def _entry(name: str, allowed: str, default: object, why: str) -> str:
    said = (f"### {name}", f"{allowed}.", f"Default: `{_written(default)}`", why)
    return "".join(f"{part}\n\n" for part in said if part).removesuffix("\n")


def _written(value: object) -> str:
    """A value as one types it in an inventory, which is Python."""
    return repr(value).replace("'", '"')


def _in_yaml(value: object) -> str:
    """A value as one types it in Ansible's variables: JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.stdout.write(readme(sys.argv[1]) if sys.argv[1:] else page())
