"""The README's lines that ask the rehearsal's model, asked of a stand-in on this machine."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from tests.service.conftest import Machine
from tests.support.pages import text
from tests.support.standin_server import STANDIN, Registry

from apuhost.roles import CHECKOUT

IN_THE_MACHINE = "apuhost rehearse ssh docker exec ollama ollama"
TUNNEL = re.compile(r"^ssh -F .*\n", re.MULTILINE)
LINES = re.compile(r"^model=.*?(?=^```)", re.MULTILINE | re.DOTALL)

LACKING = [name for name in ("bash", "curl", "awk") if not shutil.which(name)]


@pytest.mark.skipif(bool(LACKING), reason=f"not installed: {', '.join(LACKING)}")
def test_the_model_of_a_rehearsal_answers_these_lines(machine: Machine, registry: Registry) -> None:
    (lines,) = LINES.findall(text(CHECKOUT / "README.md"))
    assert lines.count(IN_THE_MACHINE) == len(TUNNEL.findall(lines)) == 1
    with machine.start() as server:
        server.post("/api/pull", model=registry.name("tiny"))
        ollama = f"OLLAMA_HOST=127.0.0.1:{server.port} {sys.executable} {STANDIN}"
        here = (
            TUNNEL.sub("", lines).replace(IN_THE_MACHINE, ollama).replace("11435", str(server.port))
        )
        done = subprocess.run(["bash", "-c", here], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["done"] is True
