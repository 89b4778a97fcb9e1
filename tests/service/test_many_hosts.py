"""What a host costs beside many others: counted in calls of functions, which no clock disturbs."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.hosts import GATHERED

from apuhost import engines, evidence
from apuhost.host_facts import HostFacts
from apuhost.inventory import Host
from apuhost.roles import CHECKOUT

COUNTING = """
import cProfile, pstats, sys
import pytest
profile = cProfile.Profile()
profile.runcall(pytest.main, sys.argv[1:])
print(pstats.Stats(profile).total_calls)
"""
FEW, MORE, MANY = 2, 8, 14
"""The same number of hosts apart."""


def calls(folder: Path, count: int, *options: tuple[str, str]) -> int:
    """How many calls of functions it takes to judge so many hosts of which nothing is known.

    Whoever wants verdicts in a file has them before the first check would run, and so none does.
    """
    for number in range(count):
        name = f"box{number}"
        evidence.save(folder, Host(name, (), {}), HostFacts(name, GATHERED, {}))
    _, _, _, *arguments = engines.pytest([("from", str(folder)), *options])
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, *arguments],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("test_gtt_size[box1]" in done.stdout) is not bool(options)
    return int(done.stdout.split()[-1])


@pytest.mark.parametrize("asking", ["by hand", "verify"])
def test_one_host_more_costs_the_same_beside_few_and_beside_many(
    tmp_path: Path, asking: str
) -> None:
    options = (("verdicts", str(tmp_path / "verdicts.json")),) if asking == "verify" else ()
    few, more, many = (calls(tmp_path / str(count), count, *options) for count in (FEW, MORE, MANY))
    assert many - more == pytest.approx(more - few, rel=0.1)
