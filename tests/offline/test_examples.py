"""examples/: two hosts' saved facts that anybody can have judged, without an inventory."""

import re
from datetime import date, datetime
from pathlib import Path

import pytest
from tests.support import examples
from tests.support.examples import EXAMPLES, FOLDER

from apuhost import evidence
from apuhost.report import verify_lines
from apuhost.roles import CHECKOUT
from apuhost.verdicts import Layer, Status
from apuhost.verdicts.host import HostReport, report

FAULTS = {
    "kernel.gtt": Layer.BOOTED,
    "ollama.environment": Layer.BOOTED,
    "ollama.exposure": Layer.BOOTED,
    "ollama.gpu": Layer.EFFECTIVE,
    "ollama.runner": Layer.CONFIGURED,
    "ollama.offload": Layer.EFFECTIVE,
    "models.parameters": Layer.CONFIGURED,
}
"""What is wrong with the broken one, and where that shows first."""


def judged(name: str) -> HostReport:
    ((host, (settings, facts)),) = evidence.load(FOLDER / name).hosts.items()
    return report(host, settings, facts, date(2026, 11, 30))


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_they_are_what_the_tests_have(tmp_path: Path) -> None:
    examples.write(tmp_path)
    assert files(FOLDER) == files(tmp_path), "make docs"


def test_the_healthy_host_has_no_fault() -> None:
    found = judged("healthy").verdicts
    others = {each.id: each.reason for each in found if each.status is not Status.PASS}
    assert others == {"boot.unchanged": "first report"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_examples_times_go_together(name: str) -> None:
    """Saved after the boot, read after that, and the folder says when."""
    _, facts = EXAMPLES[name]
    (saved,) = facts.boots.kept
    assert facts.boot.booted_at == facts.boot.now - (facts.boot.uptime_s or 0)
    assert facts.boot.booted_at < saved.saved_at < facts.boot.now
    assert datetime.fromisoformat(facts.gathered).timestamp() == facts.boot.now


def test_every_fault_of_the_broken_host_is_found_at_its_layer() -> None:
    found = judged("broken").verdicts
    failing = {each.id: each.layer for each in found if each.status is Status.FAIL}
    assert failing == FAULTS
    assert not [each.id for each in found if each.status is Status.UNKNOWN]


def test_pages_limit_in_sys_alone_proves_nothing() -> None:
    _, facts = EXAMPLES["broken"]
    assert facts.modules.live["ttm.pages_limit"] == "12582912"
    gtt = next(each for each in judged("broken").verdicts if each.id == "kernel.gtt")
    assert (gtt.status, gtt.layer) == (Status.FAIL, Layer.BOOTED)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_needs_no_inventory(name: str) -> None:
    assert [path.name for path in (FOLDER / name).iterdir()] == ["minipc"]


def test_the_readme_shows_what_is_printed() -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("verify --from examples/broken")[2].split("```")[2].strip("\n")
    printed = "\n".join(verify_lines([judged("broken")], "INVENTORY", every=False))
    assert shown
    assert all(part in printed for part in re.split(r"\n(?=FAIL)", shown))
