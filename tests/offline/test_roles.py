"""Ansible reads the roles too: plain defaults, a spec for each, templates that need no more."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from deploy import operations
from jinja2 import Environment, UndefinedError, meta, nodes
from tests.support import mirrors
from tests.support.hosts import host_facts, settings
from tests.support.imports import CORE, files

from apuhost import roles
from apuhost import settings as module
from apuhost.changes import boot, compose, cut, docker, docker_ce, kernel, models, serving, supply
from apuhost.changes.cut import Passage
from apuhost.derived import derive
from apuhost.oci import hosts_toml
from apuhost.probes.mirror import CERTIFICATE
from apuhost.roles import RoleError

ROLES = roles.names()
EVERY = (*ROLES, roles.HOST)
TEMPLATES = [
    pytest.param(role, path, id=f"{role}: /{path.relative_to(folder).with_suffix('')}")
    for role in ROLES
    for folder in [roles.folder() / role / "templates"]
    for path in sorted(folder.rglob("*.j2"))
]


CORE_FILTERS = {"default", "first", "join", "length", "replace", "sort", "tojson", "upper"}
FOREIGN = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends, nodes.Test, nodes.Macro)


def tree(template: Path) -> nodes.Template:
    return Environment(autoescape=True).parse(template.read_text(encoding="utf-8"))


@pytest.mark.parametrize("role", EVERY)
def test_every_default_has_a_spec_and_the_reverse(role: str) -> None:
    assert roles.defaults(role).keys() == roles.descriptions(role).keys()


@pytest.mark.parametrize("role", EVERY)
def test_every_variable_belongs_to_its_role_and_to_a_settings_model(role: str) -> None:
    assert all(name.startswith(f"{role}_") for name in roles.defaults(role))
    assert set(roles.defaults(role)) <= set(module.variables())


@pytest.mark.parametrize("role", EVERY)
def test_defaults_are_plain_values(role: str) -> None:
    text = (roles.folder() / role / "defaults" / "main.yml").read_text(encoding="utf-8")
    assert "{{" not in text
    assert "{%" not in text


@pytest.mark.parametrize("role", EVERY)
def test_defaults_are_right_settings(role: str) -> None:
    assert module.resolve("box1", roles.defaults(role))[1] == ()


@pytest.mark.parametrize("role", EVERY)
def test_every_description_is_one_line(role: str) -> None:
    assert all(text and "\n" not in text for text in roles.descriptions(role).values())


@pytest.mark.parametrize("role", EVERY)
def test_every_variable_has_a_type_of_ansibles(role: str) -> None:
    assert set(roles.types(role).values()) <= {"str", "int", "bool", "list", "dict", "raw"}


ASKED = {
    node.attr
    for file in files(CORE)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    if isinstance(node, ast.Attribute)
} | {operations.Bounded.limit, operations.Told.limit}


@pytest.mark.parametrize("role", EVERY)
def test_every_variable_is_used(role: str) -> None:
    templates = (roles.folder() / role / "templates").rglob("*.j2")
    named = {name for path in templates for name in meta.find_undeclared_variables(tree(path))}
    assert set(roles.defaults(role)) <= ASKED | named


def given(role: str) -> Mapping[str, object]:
    """The variables that a role's templates are rendered with."""
    facts = host_facts()
    derived = derive(settings(docker_proxy="http://proxy.example:3128"), facts)
    values: dict[str, Mapping[str, object]] = {
        "kernel": kernel.values(derived),
        "docker": {**docker.values(derived, facts), **docker_ce.values(facts)},
        "ollama": compose.values(compose.PATH, derived, facts),
        "models": models.values(derived),
        "boot": boot.values(derived),
        "mirror": {
            **serving.values(derived, mirrors.lock()),
            **hosts_toml.values("docker.io", derived.settings.mirror.registry, CERTIFICATE),
            **supply.values(mirrors.lock(), derived),
            **cut.values(Passage(("docker0",), (), ())),
        },
    }
    return values[role]


@pytest.mark.parametrize(("role", "template"), TEMPLATES)
def test_a_template_asks_for_nothing_but_settings_and_derived(role: str, template: Path) -> None:
    assert meta.find_undeclared_variables(tree(template)) <= given(role).keys()


@pytest.mark.parametrize(("role", "template"), TEMPLATES)
def test_a_template_is_written_so_that_ansible_renders_the_same_bytes(
    role: str, template: Path
) -> None:
    """Block tags stand alone at column 0, and the last line is text: it keeps its line end."""
    lines = template.read_text(encoding="utf-8").splitlines(keepends=True)
    blocks = [line for line in lines if "{%" in line or "%}" in line]
    assert all(re.fullmatch(r"\{% [^%]+ %\}\n", line) for line in blocks)
    assert not any("{#" in line or line.startswith("#jinja2:") for line in lines)
    assert lines[-1].endswith("\n")
    assert not lines[-1].endswith("}\n")


@pytest.mark.parametrize(("role", "template"), TEMPLATES)
def test_a_template_needs_none_of_ansibles_own_words(role: str, template: Path) -> None:
    filters = {found.name for found in tree(template).find_all(nodes.Filter)}
    assert filters <= CORE_FILTERS
    assert not list(tree(template).find_all(FOREIGN))


@pytest.mark.parametrize(("role", "template"), TEMPLATES)
def test_a_template_prints_nothing_that_ansible_prints_otherwise(role: str, template: Path) -> None:
    """Of a list or a dict it prints the parts, and None nowhere."""
    printed = [node for output in tree(template).find_all(nodes.Output) for node in output.nodes]
    names = {node.name for node in printed if isinstance(node, nodes.Name)}
    shown = [value for name, value in given(role).items() if name in names]
    assert all(isinstance(value, str | int) for value in shown)
    assert None not in given(role).values()


@pytest.mark.parametrize(("role", "template"), TEMPLATES)
def test_what_a_role_writes_holds_no_rest_of_a_template(role: str, template: Path) -> None:
    target = f"/{template.relative_to(roles.folder() / role / 'templates').with_suffix('')}"
    text = roles.render(role, target, given(role))
    assert not re.search(r"\{\{|\}\}|\{%|%\}", text)
    assert text.endswith("\n")


@pytest.mark.parametrize("role", EVERY)
def test_what_a_settings_model_holds_is_a_default_of_its_role(role: str) -> None:
    own = {name for name in module.variables() if name.startswith(f"{role}_")}
    assert own == set(roles.defaults(role))


def test_the_drop_in_appends_the_parameters() -> None:
    values = {"kernel_parameters": ["amd_iommu=off", "quiet"]}
    text = roles.render("kernel", "/etc/default/grub.d/zz-apuhost.cfg", values)
    assert text.endswith(
        'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT amd_iommu=off quiet"\n'
    )


def test_a_template_that_lacks_a_value_is_an_error_not_an_empty_file() -> None:
    with pytest.raises(UndefinedError):
        roles.render("kernel", "/etc/default/grub.d/zz-apuhost.cfg", {})


def test_away_from_its_checkout_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(roles, "CHECKOUT", tmp_path)
    with pytest.raises(RoleError, match="runs from its checkout"):
        roles.defaults("kernel")


@pytest.mark.parametrize(
    "text", [None, "- a list", "a: [", "just words", "\udcff"], ids=["missing", *"abcd"]
)
def test_a_role_file_that_ansible_could_not_read_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None
) -> None:
    file = tmp_path / "roles" / "kernel" / "defaults" / "main.yml"
    file.parent.mkdir(parents=True)
    if text is not None:
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
    monkeypatch.setattr(roles, "CHECKOUT", tmp_path)
    with pytest.raises(RoleError, match=r"main\.yml") as raised:
        roles.defaults("kernel")
    assert "\n" not in str(raised.value)
