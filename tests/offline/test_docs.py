"""The documentation says what is so: names, links, tables and examples are compared."""

import importlib
import json
import pkgutil
import re
from dataclasses import fields
from pathlib import Path

import deploy as deploy_package
import pytest
import typer.main
from tests.support import stack
from tests.support.hosts import GIB, GPU_780M, LINE, PARAMETERS, PARTS, host_facts, settings
from tests.support.verdicts import also, judge
from typer.core import TyperGroup

from apuhost import changes as changes_package
from apuhost import cli, kernels, known_bad, reference, report, roles
from apuhost.changes import BACKUP
from apuhost.changes.kernel import DROP_IN
from apuhost.changes.models import UNIT
from apuhost.commands import parse
from apuhost.probes.model_store import KEPT
from apuhost.roles import CHECKOUT
from apuhost.verdicts import Layer, Severity, Status, Verdict
from apuhost.verdicts.host import CONCERNS, HostReport

DOCS = CHECKOUT / "docs"
PAGES = [CHECKOUT / "README.md", CHECKOUT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
NAMES = [str(page.relative_to(CHECKOUT)) for page in PAGES]
every_page = pytest.mark.parametrize("page", PAGES, ids=NAMES)

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```|`[^`]+`", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:`|\$ )?apuhost ([a-z]+)(?: ([a-z]+))?", re.MULTILINE)
EXAMPLE = re.compile(
    r"^\$ apuhost parse ([\w-]+) <<'END'\n(.*?)^END\n(.+?)^(?:\n|```)", re.S | re.M
)


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def commands(page: Path) -> list[tuple[str, str]]:
    """Every `apuhost VERB` in code, with the word behind it."""
    return [found for code in CODE.findall(text(page)) for found in COMMAND.findall(code)]


def verbs() -> TyperGroup:
    command = typer.main.get_command(cli.app)
    assert isinstance(command, TyperGroup)
    return command


def anchor(heading: str) -> str:
    """As GitHub makes it: lower case, punctuation gone, blanks to dashes."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@every_page
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    for link in LINK.findall(text(page)):
        if link.startswith("https://"):
            continue
        path, _, wanted = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), link
        if wanted:
            assert wanted in [anchor(heading) for heading in HEADING.findall(text(target))], link


@every_page
def test_every_page_is_linked_from_the_readme(page: Path) -> None:
    readme = CHECKOUT / "README.md"
    linked = {(CHECKOUT / link.partition("#")[0]).resolve() for link in LINK.findall(text(readme))}
    assert page in {*linked, readme}


@every_page
def test_every_verb_that_is_named_is_there(page: Path) -> None:
    for verb, word in commands(page):
        assert verb in verbs().commands, f"apuhost {verb}"
        group = verbs().commands[verb]
        if word and isinstance(group, TyperGroup):
            assert word in group.commands, f"apuhost {verb} {word}"


def test_every_verb_is_named() -> None:
    assert {verb for page in PAGES for verb, _ in commands(page)} == set(verbs().commands)


def test_every_verdict_has_its_heading() -> None:
    headings = HEADING.findall(text(DOCS / "checks.md"))
    ids = [
        verdict_id
        for concern in CONCERNS
        for verdict_id in (*concern.IDS, *getattr(concern, "ACTIVE_IDS", ()))
    ]
    assert [heading for heading in headings if re.fullmatch(r"[a-z_]+\.[a-z_]+", heading)] == ids


def test_every_verdict_says_whether_it_is_required() -> None:
    facts = also(host_facts(), generation=stack.generation())
    for verdict in judge("minipc", settings(), facts).verdicts:
        section = text(DOCS / "checks.md").partition(f"## {verdict.id}\n")[2].partition("\n## ")[0]
        severities = {word for word in Severity if f"{word.capitalize()}." in section}
        assert severities == {verdict.severity}, verdict.id


def test_every_layer_status_and_json_field_is_explained() -> None:
    checks = text(DOCS / "checks.md")
    assert all(f"| {layer} |" in checks for layer in Layer)
    assert all(f"| `{status}` |" in checks for status in Status)
    named = {field.name for record in (HostReport, Verdict) for field in fields(record)}
    assert all(f"`{name}`" in checks for name in {*named, *report.as_json(())})
    assert f"`schema` is {report.SCHEMA}" in checks


def test_the_table_of_kernels_is_the_one_that_is_used() -> None:
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in text(DOCS / "kernels.md").splitlines()
        if re.match(r"\| (?:before|from) \d+\.\d+", line)
    ]
    starts = [".".join(map(str, row.since)) for row in kernels.LOCKUP_BEHAVIOURS]
    names = (f"before {starts[1]}", *(f"from {start} on" for start in starts[1:]))
    assert rows == [
        (
            name,
            *map(str, row.default.values()),
            "yes" if row.one_value_covers_compute else "no",
            row.source,
        )
        for name, row in zip(names, kernels.LOCKUP_BEHAVIOURS, strict=True)
    ]


def test_the_table_of_known_faults_is_the_one_that_is_used() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text(DOCS / "kernels.md").splitlines()
        if re.match(r"\| gfx\d", line)
    ]
    assert rows == [
        [
            ", ".join(row.gfx),
            row.kernels,
            row.firmware,
            "yes" if row.rocm_only else "no",
            row.effect,
            row.fix,
            row.source,
        ]
        for row in known_bad.KNOWN_BAD
    ]


EXAMPLES = EXAMPLE.findall(text(DOCS / "parse.md"))


def test_every_kind_of_parse_has_one_example() -> None:
    assert sorted(kind for kind, _, _ in EXAMPLES) == sorted(parse.READERS)


@pytest.mark.parametrize(
    ("kind", "given", "printed"), EXAMPLES, ids=[kind for kind, _, _ in EXAMPLES]
)
def test_an_example_of_parse_prints_what_the_page_says(
    kind: str, given: str, printed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / kind
    file.write_text(given, encoding="utf-8")
    assert parse.run(kind, str(file)) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(printed)


WRITING = (changes_package, deploy_package)
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
    """Every path of a host that changes/ or deploy/ knows, in their texts and constants."""
    modules = [
        importlib.import_module(f"{package.__name__}.{module.name}")
        for package in WRITING
        for module in pkgutil.iter_modules(package.__path__)
        if module.name != "all"  # what pyinfra executes
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


def test_the_readmes_example_is_what_verify_prints() -> None:
    facts = host_facts(
        cmdline=f"{LINE} quiet {PARAMETERS}\n".replace("12582912", "8126464"),
        modules=PARTS["modules"].replace("12582912", "8126464"),
        gpus=GPU_780M.replace(str(48 * GIB), str(31 * GIB)),
    )
    found = judge("minipc", settings(host_roles=["kernel"]), facts)
    lines = report.verify_lines([found], "inventories/minipc.py", every=False)
    assert "\n".join(lines) in text(CHECKOUT / "README.md")


def test_the_page_of_settings_is_up_to_date() -> None:
    assert text(DOCS / "settings.md") == reference.page(), "make docs"


def test_a_reason_is_the_comment_right_above_its_default() -> None:
    defaults = "# Not a reason.\n\n# One line,\n# and one more.\na_b: 1\nc: []\n#d\ne:\n  - f\n"
    assert reference.reasons(defaults) == {"a_b": "One line,\nand one more.", "c": "", "e": "d"}


def test_every_default_has_a_reason() -> None:
    for role in roles.names():
        path = roles.folder() / role / "defaults" / "main.yml"
        found = reference.reasons(path.read_text(encoding="utf-8"))
        assert found.keys() == roles.defaults(role).keys()
        assert all(found.values())
