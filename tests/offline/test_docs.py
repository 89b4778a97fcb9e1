"""The documentation says what is so: links, tables and examples are compared."""

import json
import re
import runpy
from dataclasses import fields, replace
from pathlib import Path

import pytest
from tests.support import stack
from tests.support.hosts import (
    GIB,
    GPU_780M,
    LINE,
    PARAMETERS,
    PARTS,
    host_facts,
    settings,
    unit_files,
)
from tests.support.pages import DOCS, every_page, text
from tests.support.stack import framed
from tests.support.verdicts import also, judge

from apuhost import kernels, known_bad, reference, report, roles
from apuhost.changes import compose, models
from apuhost.commands import kinds, parse
from apuhost.derived import derive
from apuhost.host_facts import HostFacts
from apuhost.roles import CHECKOUT
from apuhost.round_trip import PROBES, SAVED_PROBES
from apuhost.settings import Settings
from apuhost.verdicts import Layer, Severity, Status, Verdict, boot
from apuhost.verdicts.host import CONCERNS, HostReport

EVERY_ROLE = (*roles.names(), roles.HOST)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
EXAMPLE = re.compile(
    r"^\$ apuhost parse ([\w-]+) <<'END'\n(.*?)^END\n(.+?)^(?:\n|```)", re.S | re.M
)


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


def test_every_verdict_has_its_heading() -> None:
    headings = HEADING.findall(text(DOCS / "checks.md"))
    ids = [
        verdict_id
        for concern in CONCERNS
        for verdict_id in (*concern.IDS, *getattr(concern, "ACTIVE_IDS", ()))
    ]
    assert [heading for heading in headings if re.fullmatch(r"[a-z_]+\.[a-z_]+", heading)] == ids


def test_every_verdict_says_whether_it_is_required() -> None:
    facts = also(host_facts(), generation=stack.generation(), repetition=stack.repetition())
    mirrored = settings(mirror_address="192.0.2.2")
    for verdict in judge("minipc", mirrored, facts).verdicts:
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


FACTS_ROW = re.compile(r"^\| `(\w+)\.txt` \| (?:`([\w-]+)`|none: ).* \|$", re.MULTILINE)
EXAMPLES = EXAMPLE.findall(text(DOCS / "parse.md"))


def test_every_kind_of_parse_has_one_example() -> None:
    assert sorted(kind for kind, _, _ in EXAMPLES) == sorted(kinds.READERS)


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


def test_the_files_of_a_facts_folder_are_told_with_the_kind_that_reads_them() -> None:
    rows = dict(FACTS_ROW.findall(text(DOCS / "parse.md")))
    assert sorted(rows) == sorted((*PROBES, *SAVED_PROBES))
    assert {name: kind for name, kind in rows.items() if kind} == kinds.OF_FACTS


def reference_host() -> Settings:
    """inventories/minipc.py, with the digest that its comment tells to paste."""
    ((_, data),) = runpy.run_path(str(CHECKOUT / "inventories" / "minipc.py"))["hosts"]
    pinned = [{**model, "digest": stack.QWEN.digest} for model in data["models_list"]]
    return settings(**{**data, "models_list": pinned})


def deployed_before_a_reboot(asked: Settings) -> HostFacts:
    """A host as these settings make it, in a boot that began before its GTT was asked for."""
    derived, healthy = derive(asked, host_facts()), host_facts()
    variables = compose.variables(derived)
    containers = stack.containers(stack.container(variables), stack.image())
    preload = roles.render("models", models.PROGRAM, models.values(derived))
    facts = host_facts(
        compose=framed({compose.PATH: compose.rendered(compose.PATH, derived, healthy)}),
        containers=containers.replace(stack.MADE_FROM, compose.made_from(derived, healthy)),
        runners=stack.runners(stack.command(), environment=variables),
        units=stack.units({**unit_files(), models.PROGRAM: preload}),
        cmdline=f"{LINE} quiet {PARAMETERS}\n".replace("12582912", "8126464"),
        modules=PARTS["modules"].replace("12582912", "8126464"),
        gpus=GPU_780M.replace(str(48 * GIB), str(31 * GIB)),
    )
    return replace(facts, last=boot.seen(facts))


def test_the_readmes_example_is_what_verify_prints() -> None:
    asked = reference_host()
    found = judge("minipc", asked, deployed_before_a_reboot(asked))
    lines = report.verify_lines([found], "inventories/minipc.py", every=False)
    assert "\n".join(lines) in text(CHECKOUT / "README.md")


def test_the_page_of_settings_is_up_to_date() -> None:
    assert text(DOCS / "settings.md") == reference.page(), "make docs"


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_a_roles_readme_is_up_to_date(role: str) -> None:
    assert text(roles.folder() / role / "README.md") == reference.readme(role), "make docs"


def test_a_reason_is_the_comment_right_above_its_default() -> None:
    defaults = "# Not a reason.\n\n# One line,\n# and one more.\na_b: 1\nc: []\n#d\ne:\n  - f\n"
    assert reference.reasons(defaults) == {"a_b": "One line,\nand one more.", "c": "", "e": "d"}


def test_every_default_has_a_reason() -> None:
    for role in EVERY_ROLE:
        path = roles.folder() / role / "defaults" / "main.yml"
        found = reference.reasons(path.read_text(encoding="utf-8"))
        assert found.keys() == roles.defaults(role).keys()
        assert all(found.values())
