"""docs/settings.md: every setting, what it may be, its default and the reason for the default.

`python -m apuhost.reference > docs/settings.md`, or `make docs`. The words stand with the settings
themselves: meta/argument_specs.yml says what a role's variable may be, the comment above its
default says why; what is said of a host itself stands in `settings`.
"""

import inspect
import sys
from collections.abc import Iterator
from typing import get_args

from pydantic import BaseModel

from apuhost import roles
from apuhost.settings.host import HOST_DESCRIPTIONS, HostSettings

HEAD = """\
# Settings

<!-- Written by `make docs` from roles/*/defaults, roles/*/meta and apuhost.settings. -->

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


def page() -> str:
    """The whole of docs/settings.md.

    Raises:
        RoleError: a role's file is missing or is not what Ansible would read.
    """
    entries = (entry for role in roles.names() for entry in _role(role))
    return "\n".join((HEAD, *entries, *_host()))


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


def _role(role: str) -> Iterator[str]:
    text = (roles.folder() / role / "defaults" / "main.yml").read_text(encoding="utf-8")
    why, allowed = reasons(text), roles.descriptions(role)
    yield f"## The role {role}\n"
    for name, default in roles.defaults(role).items():
        yield _entry(name, allowed[name], default, why.get(name, ""))


def _host() -> Iterator[str]:
    yield "## The host itself\n"
    for name, field in HostSettings.model_fields.items():
        models = [part for part in get_args(field.annotation) if _is_model(part)]
        why = "\n".join(inspect.getdoc(model) or "" for model in models)
        default = field.get_default(call_default_factory=True)
        yield _entry(name, HOST_DESCRIPTIONS[name], default, why)


def _is_model(part: object) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)


def _entry(name: str, allowed: str, default: object, why: str) -> str:
    said = (f"### {name}", f"{allowed}.", f"Default: `{_written(default)}`", why)
    return "".join(f"{part}\n\n" for part in said if part).removesuffix("\n")


def _written(value: object) -> str:
    """A value as one types it in an inventory, which is Python."""
    return repr(value).replace("'", '"')


if __name__ == "__main__":
    sys.stdout.write(page())
