"""What a host costs beside many others: counted in calls of functions, which no clock disturbs."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.hosts import GATHERED

from apuhost import evidence
from apuhost.host_facts import HostFacts
from apuhost.inventory import Host
from apuhost.roles import CHECKOUT

COUNTING = """
import cProfile, pstats, sys
from {module} import main
profile = cProfile.Profile()
try:
    profile.runcall(main)
except SystemExit:
    pass
print(pstats.Stats(profile).total_calls)
"""
FEW, MORE, MANY = 2, 8, 14
"""The same number of hosts apart."""


def calls(folder: Path, count: int, module: str, *words: str) -> int:
    """How many calls of functions it takes to judge so many hosts of which nothing is known."""
    for number in range(count):
        name = f"box{number}"
        evidence.save(folder, Host(name, (), {}), HostFacts(name, GATHERED, {}))
    program = COUNTING.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", program, *words, f"--from={folder}"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "box" in done.stdout  # by its name, or in a range
    return int(done.stdout.split()[-1])


@pytest.mark.parametrize(
    ("module", "words"), [("pytest", ("checks",)), ("apuhost.cli", ("verify",))]
)
def test_one_host_more_costs_the_same_beside_few_and_beside_many(
    tmp_path: Path, module: str, words: tuple[str, ...]
) -> None:
    few, more, many = (
        calls(tmp_path / str(count), count, module, *words) for count in (FEW, MORE, MANY)
    )
    assert many - more == pytest.approx(more - few, rel=0.1)
