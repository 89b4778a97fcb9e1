"""What the documentation names is there: commands, options, settings, verdicts, files.

And what there is of them to be known, it names.
"""

import ast
import importlib
import pkgutil
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from tests.support.pages import DOCS, PAGES, code, every_page, lines_of_code, text
from typer.core import TyperGroup

from apuhost import changes as changes_package
from apuhost import roles, verdict_ids
from apuhost import steps as steps_package
from apuhost.changes import BACKUP
from apuhost.changes.kernel import DROP_IN
from apuhost.changes.models import UNIT
from apuhost.cli import verbs as cli_verbs
from apuhost.probes.model_store import KEPT
from apuhost.redaction.names import GENERIC
from apuhost.rehearsal import state
from apuhost.roles import CHECKOUT
from apuhost.settings import variables
from apuhost.settings.connection import PYINFRA_KEYS
from apuhost.settings.files import PinnedFile
from apuhost.settings.firmware import FirmwareSetup
from apuhost.settings.models import PinnedModel
from apuhost.settings.waiver import Waiver

EVERYWHERE = {"--help", "-h", "--debug", "--version"}
OF_OTHER_PROGRAMS = {"--collector.textfile.directory", "--iptables=false"}
OF_OTHER_PROGRAMS |= {
    "--check",
    "--diff",
    "--tags",
    "--ask-become-pass",
    "-e",
}  # ansible-playbook's


def verbs() -> TyperGroup:
    command = typer.main.get_command(cli_verbs.app)
    assert isinstance(command, TyperGroup)
    return command


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every `apuhost VERB ...` in code, less what only the shell reads."""
    for line in lines_of_code(page):
        command = re.match(r"(?:\S+/)?apuhost( [a-z][^|<#]*)", line)
        if command:
            yield shlex.split(command[1])


@every_page
def test_every_verb_that_is_named_is_there(page: Path) -> None:
    for verb, *words in commands(page):
        assert verb in verbs().commands, f"apuhost {verb}"
        group = verbs().commands[verb]
        if words and isinstance(group, TyperGroup):
            assert words[0] in group.commands, f"apuhost {verb} {words[0]}"


def test_every_verb_is_named() -> None:
    assert {verb for page in PAGES for verb, *_ in commands(page)} == set(verbs().commands)


def options(verb: str) -> set[str]:
    command = verbs().commands[verb]
    below = command.commands.values() if isinstance(command, TyperGroup) else ()
    parameters = (each for part in (command, *below) for each in part.params)
    named = {option for each in parameters for option in each.opts}
    return {option for option in named if option.startswith("-")} | EVERYWHERE


@every_page
def test_every_option_of_a_command_is_there(page: Path) -> None:
    for verb, *words in commands(page):
        given = {word for word in words if re.match("--?[a-z]", word)}
        assert given <= options(verb) or verb == "rehearse", f"apuhost {verb} {words}"


@every_page
def test_an_option_by_itself_is_one_of_ours(page: Path) -> None:
    ours = {option for verb in verbs().commands for option in options(verb)}
    alone = [each.strip("`").split()[0] for each in code(page) if each.startswith("`-")]
    given = {word for word in alone if re.match("--?[a-z]", word)}
    assert given <= ours | OF_OTHER_PROGRAMS


@every_page
def test_every_verdict_that_is_named_is_given(page: Path) -> None:
    concerns = "|".join({each.partition(".")[0] for each in verdict_ids.ALL})
    files = r"(?:service|timer|io|conf|asc|sources|txt)\b"
    named = re.findall(rf"(?<![\w/.-])(?:{concerns})\.(?!{files})[a-z_]+", text(page))
    assert set(named) <= set(verdict_ids.ALL)


OF_OTHERS = {"kernel_log", "mirror_answers", "mirror_serving", "ollama_api", "ollama_log"}
OF_OTHERS |= {"boot_id", "ollama_default", "docker_version", "docker_log_opts", "kernel_gtt_gb"}
OF_OTHERS |= {"host_vars"}
"""They begin like a setting: files of a facts folder, the kernel's word, Docker's network, a folder
of Ansible's, and what another role has, or a misspelt one."""


@every_page
def test_every_setting_that_is_named_is_there(page: Path) -> None:
    roles_named = "|".join(("host", *roles.names()))
    named = re.findall(rf"(?<![\w/.-])(?:{roles_named})_[a-z_]+", text(page))
    assert set(named) - OF_OTHERS <= set(variables())
    pyinfras = re.findall(r"`(_?(?:ssh|sudo|su|doas|dzdo)_[a-z_]+|_sudo)\b", text(page))
    assert set(pyinfras) <= set(PYINFRA_KEYS)


@every_page
def test_every_role_that_is_named_is_there(page: Path) -> None:
    named = re.findall(r"\b[Tt]he role (?!out of)`?([a-z]+)", text(page))
    assert set(named) <= set(roles.names())


PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@every_page
def test_every_key_in_an_example_of_an_inventory_is_there(page: Path) -> None:
    parts = (FirmwareSetup, PinnedFile, PinnedModel, Waiver)
    known = {*variables(), *PYINFRA_KEYS, *(key for part in parts for key in part.model_fields)}
    for example in PYTHON.findall(text(page)):
        keys = {
            key.value
            for node in ast.walk(ast.parse(example))
            if isinstance(node, ast.Dict)
            for key in node.keys
            if isinstance(key, ast.Constant)
        }
        assert keys <= known


OF_THE_READER = {
    "inventories/mybox.py",
    "inventories/site.py",
    "inventories/group_data/site_b.py",
}
FOLDERS = "checks|deploy|docs|examples|inventories|roles|scripts|src|tests"


@every_page
def test_every_file_of_the_checkout_that_is_named_is_there(page: Path) -> None:
    found = re.findall(rf"(?<![\w/.*-])(?:{FOLDERS})/[\w./*-]*\w", "\n".join(lines_of_code(page)))
    lacking = {path for path in found if not list(CHECKOUT.glob(path))}
    assert lacking <= OF_THE_READER


@every_page
def test_every_target_of_make_that_is_named_is_there(page: Path) -> None:
    targets = re.findall(r"^([\w-]+):", text(CHECKOUT / "Makefile"), re.MULTILINE)
    named = [re.match(r"make ([a-z][\w-]*)", line) for line in lines_of_code(page)]
    assert {each[1] for each in named if each} <= set(targets)


@every_page
def test_every_variable_of_the_environment_that_is_named_is_read(page: Path) -> None:
    sources = "\n".join(map(text, (CHECKOUT / "src").rglob("*.py")))
    for name in re.findall(r"\bAPUHOST_\w+", text(page)):
        assert f'"{name}"' in sources, name


WRITING = (changes_package, steps_package)
HOST_PATH = re.compile(r"(?<![\w$}*])/(?:boot|etc|run|usr/local|var)/[\w./-]*[\w-]")
NOT_WRITTEN = {
    "/boot/grub",  # folders, and what is only asked or written by a program of the host's
    "/etc/ssl/certs/apuhost-site.crt",  # in the container
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/systemd/system",
    "/run/apuhost",
    "/run/lock",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/var/lib/docker",
    "/var/lib/dpkg/lock-frontend",
}


def written_paths() -> list[str]:
    """Every path of a host that changes/ or steps/ knows, in their texts and constants."""
    modules = [
        importlib.import_module(f"{package.__name__}.{module.name}")
        for package in WRITING
        for module in pkgutil.iter_modules(package.__path__)
    ]
    texts = [Path(str(module.__file__)).read_text(encoding="utf-8") for module in modules]
    texts += [value for module in modules for value in vars(module).values() if type(value) is str]
    found = {path for each in texts for path in HOST_PATH.findall(each)}
    return sorted(path for path in found - NOT_WRITTEN if not path.endswith("apuhost-new"))


def test_paths_are_found_in_texts_and_in_constants() -> None:
    found = {KEPT, UNIT, "/run/apuhost.lock", "/run/apuhost/offer-", "/etc/modprobe.d"}
    assert found <= set(written_paths())


@pytest.mark.parametrize("path", written_paths())
def test_what_is_written_on_a_host_is_named(path: str) -> None:
    assert path in text(DOCS / "security.md")
    if not path.startswith("/run/"):  # gone with the next boot
        assert path in text(DOCS / "way-back.md")


@pytest.mark.parametrize("page", ["README.md", "docs/way-back.md", "docs/security.md"])
@pytest.mark.parametrize("name", [DROP_IN, BACKUP], ids=["drop-in", "copies"])
def test_what_stays_on_a_host_is_named(page: str, name: str) -> None:
    assert name in text(CHECKOUT / page)


@every_page
def test_every_file_of_ours_on_a_host_that_is_named_is_written(page: Path) -> None:
    ours = [path for path in written_paths() if "apuhost" in path]
    for path in HOST_PATH.findall(text(page)):
        known = (each.startswith(path) or path.startswith(each) for each in ours)
        assert "apuhost" not in path.removesuffix(BACKUP) or any(known), path


@every_page
def test_every_unit_of_ours_that_is_named_is_installed(page: Path) -> None:
    units = {file.stem for file in roles.folder().rglob("apuhost-*.j2")}
    assert set(re.findall(r"apuhost-\w+\.(?:service|timer)", text(page))) <= units


def test_every_unit_of_ours_is_undone() -> None:
    page = text(DOCS / "way-back.md")
    units = [file.stem for file in roles.folder().rglob("system/apuhost-*.j2")]
    assert units
    assert all(f"/etc/systemd/system/{unit}" in page for unit in units)


def test_the_rehearsals_machine_is_asked_as_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    for name in ("XDG_STATE_HOME", "APUHOST_REHEARSAL_STATE"):
        monkeypatch.delenv(name, raising=False)
    folder = state.state_directory()
    config = state.Machine(folder, 1, state.USER, folder, 1, 1).ssh_config
    shown = str(config).replace("/home/me", "~")
    tunnel = f"ssh -F {shown} -fNL 11435:127.0.0.1:11434 {state.HOST_NAME}\n"
    assert tunnel in text(CHECKOUT / "README.md")


def test_words_that_no_mask_hides_are_those_that_stay() -> None:
    kept = text(DOCS / "security.md").partition("**Kept** are:")[2].partition("\n## ")[0]
    words = re.findall(r"`([a-z]+)`", kept)
    assert {"vm", "pc", "admin"} <= set(words) <= GENERIC
