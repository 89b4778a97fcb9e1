"""Who may import whom, and one concern is one word in every folder."""

import ast
import re
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from tests.support import stack
from tests.support.hosts import host_facts, settings
from tests.support.imports import CORE, files, imported, module
from tests.support.verdicts import also

import apuhost
from apuhost import roles
from apuhost.host_facts import HostFacts
from apuhost.roles import CHECKOUT
from apuhost.settings import ROLES
from apuhost.settings.connection import PYINFRA_KEYS
from apuhost.verdicts.host import CONCERNS, verdicts

NAMES = re.compile(r"[a-z_]+(?:, [a-z_]+)*(?:\s*>\s*[a-z_]+(?:, [a-z_]+)*)+")
PROCESSES = {
    "subprocess", "socket", "pty", "multiprocessing", "asyncio", "paramiko", "http", "httpx",
}  # fmt: skip
STARTERS = {"inventory", "gather", "engines", "rehearsal", "bundle", "oci", "web"}


def layers() -> list[list[str]]:
    """The order that the package's own docstring gives, from the top down."""
    order = NAMES.search((apuhost.__doc__ or "").partition("::")[2])
    assert order is not None
    return [re.findall(r"[a-z_]+", layer) for layer in order[0].split(">")]


DEPTHS = {word: depth for depth, layer in enumerate(layers()) for word in layer}


def word(name: str) -> str:
    """`apuhost.probes.grub` belongs to `probes`."""
    return name.split(".")[1]


CORE_FILES = [file for file in files(CORE) if file.parent != CORE or file.stem != "__init__"]


def core_imports(file: Path) -> set[str]:
    return {name for name in imported(file) if name.startswith("apuhost.")}


def test_the_order_of_layers_names_every_module() -> None:
    assert set(DEPTHS) == {word(module(file)) for file in CORE_FILES}


@pytest.mark.parametrize("file", CORE_FILES, ids=module)
def test_imports_go_downwards(file: Path) -> None:
    own = word(module(file))
    upwards = {
        name
        for name in core_imports(file)
        if word(name) != own and DEPTHS[word(name)] <= DEPTHS[own]
    }
    assert not upwards


def test_no_module_imports_itself_in_a_circle() -> None:
    TopologicalSorter({module(file): core_imports(file) for file in CORE_FILES}).prepare()


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        pytest.param("src/apuhost", {"deploy", "checks", "tests"}, id="the core"),
        pytest.param("deploy", {"checks", "tests"}, id="deploy"),
        pytest.param("checks", {"deploy", "tests"}, id="checks"),
        pytest.param("inventories", {"deploy", "checks", "tests"}, id="inventories"),
        pytest.param(".", {"pyinfra_cli"}, id="nobody imports pyinfra_cli"),
    ],
)
def test_folders_meet_only_in_the_core(folder: str, forbidden: set[str]) -> None:
    sources = [file for file in files(CHECKOUT / folder) if ".venv" not in file.parts]
    assert sources
    crossing = {
        (module(file), name)
        for file in sources
        for name in imported(file)
        if name.split(".")[0] in forbidden
    }
    assert {pair for pair in crossing if not pair[0].startswith("tests.")} == set()


@pytest.mark.parametrize("file", CORE_FILES, ids=module)
def test_a_name_is_imported_from_where_it_is_defined(file: Path) -> None:
    """No module has another one's name again, for others to import."""
    again = [
        ast.unparse(node)
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute)
        if node.value.attr in map(ast.unparse, node.targets)
    ]
    assert not again


def test_only_some_words_start_processes_or_open_sockets() -> None:
    starting = {
        word(module(file))
        for file in CORE_FILES
        if PROCESSES & {name.split(".")[0] for name in imported(file)}
    }
    assert starting <= STARTERS


@pytest.mark.parametrize("role", roles.names())
@pytest.mark.parametrize(
    "place", ["src/apuhost/steps/{}.py", "checks/test_{}.py", "src/apuhost/verdicts/{}.py"]
)
def test_a_role_is_one_word_in_every_folder(role: str, place: str) -> None:
    assert (CHECKOUT / place.format(role)).is_file()


def ids(facts: HostFacts) -> list[str]:
    mirrored = settings(mirror_address="192.0.2.2")
    return [verdict.id for verdict in verdicts(mirrored, facts)]


def active() -> list[str]:
    """What is judged only where it was asked for."""
    return [each for concern in CONCERNS for each in getattr(concern, "ACTIVE_IDS", ())]


def asked(file: Path) -> dict[str, list[str]]:
    """For every check function of a file the verdicts that it asks for."""
    functions = [
        node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)
    ]
    return {
        f"{file.stem}.{function.name}": [
            call.args[0].value
            for call in ast.walk(function)
            if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "holds"
            and isinstance(call.args[0], ast.Constant)
            and isinstance(call.args[0].value, str)
        ]
        for function in functions
        if function.name.startswith("test_")
    }


CHECKS = {
    name: questions
    for file in sorted((CHECKOUT / "checks").glob("test_*.py"))
    for name, questions in asked(file).items()
}


def test_every_verdict_is_asked_by_exactly_one_check() -> None:
    given = Counter([*ids(host_facts()), *active()])
    assert Counter(question for questions in CHECKS.values() for question in questions) == given
    assert set(given.values()) == {1}


@pytest.mark.parametrize(("check", "questions"), CHECKS.items(), ids=list(CHECKS))
def test_a_check_asks_one_question_of_its_own_concern(check: str, questions: list[str]) -> None:
    assert [question.partition(".")[0] for question in questions] == [
        check.partition(".")[0].removeprefix("test_")
    ]


def test_every_verdict_is_there_whatever_could_be_read() -> None:
    assert ids(HostFacts("minipc", "", {})) == ids(host_facts())


def test_what_was_asked_for_is_judged_last_of_its_concern() -> None:
    asked = ids(also(host_facts(), generation=stack.generation(), repetition=stack.repetition()))
    assert [each for each in asked if each not in active()] == ids(host_facts())
    for concern in CONCERNS:
        own = [*concern.IDS, *getattr(concern, "ACTIVE_IDS", ())]
        assert [each for each in asked if each in own] == own


@pytest.mark.parametrize("role", roles.names())
def test_a_role_that_is_not_applied_gives_no_verdict(role: str) -> None:
    others = [name for name in ROLES if name != role]
    for facts in (host_facts(), HostFacts("minipc", "", {})):
        found = verdicts(settings(host_roles=others), facts)
        assert role not in {verdict.id.partition(".")[0] for verdict in found}
        assert "gpu.driver" in {verdict.id for verdict in found}


def test_pyinfras_own_keys_are_pyinfras() -> None:
    from pyinfra.api.arguments import AllArguments  # noqa: PLC0415  (takes a second)
    from pyinfra.connectors.ssh import ConnectorData  # noqa: PLC0415

    # `name` names an operation; as a key of a host it would be nobody's.
    theirs = {*ConnectorData.__annotations__, *AllArguments.__annotations__} - {"name"}
    assert set(PYINFRA_KEYS) == theirs
