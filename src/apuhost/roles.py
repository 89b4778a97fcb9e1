"""The roles' defaults, argument specs and templates: the one place in Python that reads or renders.

apuhost runs from its checkout, as an Ansible repository does: the roles are its data.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined, Template

from apuhost.errors import ApuhostError

CHECKOUT = Path(__file__).resolve().parents[2]


class RoleError(ApuhostError):
    """A role's file is missing or is not what Ansible would read."""


HOST = "host"
"""What is said of a host itself: the roles stand on it, and nobody chooses it."""


def folder() -> Path:
    """The checkout's roles/.

    Raises:
        RoleError: apuhost was installed away from its checkout.
    """
    roles = CHECKOUT / "roles"
    if not roles.is_dir():
        raise RoleError(
            f"{roles} is missing: apuhost runs from its checkout (clone it, then `make install`)"
        )
    return roles


def names() -> tuple[str, ...]:
    """Every role that a host may be given, in alphabetical order."""
    return tuple(sorted(path.name for path in folder().iterdir() if path.name != HOST))


def defaults(role: str) -> dict[str, Any]:
    """defaults/main.yml of a role: plain values, no Jinja (Ansible reads the same file)."""
    return dict(_yaml(folder() / role / "defaults" / "main.yml"))


def descriptions(role: str) -> dict[str, str]:
    """What each variable of a role may be, in words, from meta/argument_specs.yml."""
    return {
        name: str(option["description"]).strip().rstrip(".")
        for name, option in _spec(role)["options"].items()
    }


def types(role: str) -> dict[str, str]:
    """What type each variable of a role has, in Ansible's word."""
    return {name: str(option["type"]) for name, option in _spec(role)["options"].items()}


def described(role: str) -> str:
    """What a role does, in words."""
    return " ".join(_spec(role)["description"])


def _spec(role: str) -> dict[str, Any]:
    specs = _yaml(folder() / role / "meta" / "argument_specs.yml")
    return dict(specs["argument_specs"]["main"])


def render(role: str, target: str, values: Mapping[str, object]) -> str:
    """The file that a role puts at the absolute path `target`, as Ansible would render it.

    Ansible trims block tags and prints None as nothing; plain Jinja2 does neither, so both are
    set here (facts/lab.md section 5 compared the bytes of 33 templates).

    Raises:
        jinja2.UndefinedError: the template asks for a value that is not there.
    """
    source = folder() / role / "templates" / f"{target.lstrip('/')}.j2"
    return _template(source).render(values)


@cache
def _template(path: Path) -> Template:
    return _environment().from_string(path.read_text(encoding="utf-8"))


@cache
def _environment() -> Environment:
    # Not HTML: the targets are configuration files, where escaping would change the value.
    return Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: "" if value is None else value,
        autoescape=False,  # noqa: S701
    )


@cache
def _yaml(path: Path) -> dict[str, Any]:
    try:
        return dict(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise RoleError(f"{path}: {' '.join(str(error).split())}") from error
