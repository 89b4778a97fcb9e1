"""Ansible's words for how a host is reached, in pyinfra's; and which variables are ours to read."""

import json
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from apuhost.inventory.entries import Unread, Value, no_json
from apuhost.nearest import hint
from apuhost.settings import ROLES, variables
from apuhost.settings.connection import PYINFRA_KEYS

_KNOWN = frozenset((*variables(), *PYINFRA_KEYS))
_PREFIXES = tuple(f"{role}_" for role in (*ROLES, "host"))
_NEAR = 0.85
"""difflib's ratio: olama_image is near ollama_image, kube_version is near nothing."""

FOREIGN = "apuhost_foreign_variables"
"""Names that begin like a role's variables and are somebody else's, as for the roles in Ansible."""

_YES = ("yes", "true", "on", "y", "t", "1")
_NO = ("no", "false", "off", "n", "f", "0")

CONFIG = "put it into ~/.ssh/config, below the host's `Host`"
_KEY = "not used by apuhost: set ansible_ssh_private_key_file, or have the key in an agent"


def _text(value: Any) -> Any:  # noqa: ANN401
    """INI makes a number of a user who is called 1000."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _number(value: Any) -> Any:  # noqa: ANN401
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


def _truth(value: Any) -> Any:  # noqa: ANN401
    word = str(value).lower()
    return word in _YES if word in (*_YES, *_NO) else value


Change = Callable[[Any], Any]

_RENAMED: Mapping[str, tuple[str, Change]] = {
    "ansible_host": ("ssh_hostname", _text),
    "ansible_ssh_host": ("ssh_hostname", _text),
    "ansible_port": ("ssh_port", _number),
    "ansible_ssh_port": ("ssh_port", _number),
    "ansible_user": ("ssh_user", _text),
    "ansible_ssh_user": ("ssh_user", _text),
    "ansible_ssh_private_key_file": ("ssh_key", _text),
    "ansible_private_key_file": ("ssh_key", _text),
    "ansible_become": ("_sudo", _truth),
    "ansible_become_password": ("_sudo_password", _text),
    "ansible_become_pass": ("_sudo_password", _text),
}

_ONLY: Mapping[str, tuple[tuple[object, ...], str]] = {
    "ansible_connection": (("ssh", "smart", "paramiko", "paramiko_ssh"), "apuhost uses ssh"),
    "ansible_become_method": (("sudo", "ansible.builtin.sudo"), "apuhost becomes root by sudo"),
    "ansible_become_user": (("root",), "apuhost becomes root"),
    "ansible_password": (("",), _KEY),
    "ansible_ssh_pass": (("",), _KEY),
    "ansible_ssh_common_args": (("",), CONFIG),
    "ansible_ssh_extra_args": (("",), CONFIG),
    "ansible_ssh_args": (("",), CONFIG),
}
"""What these may be, and why nothing else."""

_ANSIBLES_OWN = frozenset(
    """
    ansible_python_interpreter ansible_group_priority ansible_pipelining ansible_ssh_pipelining
    ansible_ssh_retries ansible_remote_tmp ansible_shell_type ansible_shell_executable
    ansible_ssh_transfer_method ansible_scp_extra_args ansible_sftp_extra_args ansible_become_flags
    ansible_become_exe ansible_ssh_executable ansible_timeout ansible_ssh_timeout
    """.split()  # noqa: SIM905  (a list of names, not of strings)
)
"""How Ansible itself works; nothing of it matters to apuhost."""


def translated(given: Mapping[str, Value], problems: list[str]) -> dict[str, Value]:
    """The variables that are apuhost's, under its names; what cannot be understood is a problem."""
    found: dict[str, Value] = {}
    others = {*_ANSIBLES_OWN, FOREIGN, *_foreign(given.get(FOREIGN), problems)}
    for key, value in given.items():
        if key in others or not _is_ours(key):
            continue
        if isinstance(value.value, Unread):
            problems.append(f"{value.place}: {key} {value.value.why}")
        elif odd := no_json(value.value):
            problems.append(f"{value.place}: {key} {odd}")
        elif _is_template(value.value):
            problems.append(f"{value.place}: {key} has Jinja2 in it: write the value itself")
        elif key in _RENAMED:
            ours, change = _RENAMED[key]
            _keep(found, ours, Value(change(value.value), value.place), problems)
        elif key in _ONLY:
            allowed, why = _ONLY[key]
            if value.value not in allowed:
                problems.append(f"{value.place}: {key} is set: {why}")
        elif key.startswith("ansible_"):
            near = hint(key, (*_RENAMED, *_ONLY, *_ANSIBLES_OWN))
            problems.append(f"{value.place}: {key} is nothing that apuhost knows{near}")
        else:
            _keep(found, key, value, problems)
    return found


def _foreign(given: Value | None, problems: list[str]) -> list[str]:
    """The names that are somebody else's."""
    named = given.value if given else []
    if isinstance(named, list) and all(isinstance(each, str) for each in named):
        return named
    if given:
        told = named.why if isinstance(named, Unread) else "is no list of names"
        problems.append(f"{given.place}: {FOREIGN} {told}")
    return []


def _keep(found: dict[str, Value], key: str, value: Value, problems: list[str]) -> None:
    """Two of Ansible's words may mean one of pyinfra's."""
    before = found.setdefault(key, value)
    if before.value != value.value:
        problems.append(f"{value.place}: {key} has another value at {before.place}")


def _is_ours(key: str) -> bool:
    """Whether apuhost reads it; what another role of the site reads is that role's affair.

    That is what begins with a role's name, and what is misspelt by a letter or two.
    """
    if key.startswith(("ansible_", *_PREFIXES)) or key in _KNOWN:
        return True
    return bool(get_close_matches(key, _KNOWN, n=1, cutoff=_NEAR))


def _is_template(value: object) -> bool:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return "{{" in text or "{%" in text or "{#" in text
