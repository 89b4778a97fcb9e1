"""pyinfra reads the inventory, in a process of its own: pyinfra_cli patches gevent into its caller.

Where pyinfra itself stumbles, over the type of a connection key for one, it is run once more with
its hosts left unconnected, so that every host's data can still be judged.
"""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apuhost import roles
from apuhost.inventory import exceptions, sources
from apuhost.inventory.handover import given
from apuhost.inventory.lists import HINT
from apuhost.inventory.syntax import InventoryError, files, shown

TIMEOUT_S = 60

AS_IT_IS = ("-m", "pyinfra")

# pyinfra's command line, but for the step that gives each host its connector: instead the hosts
# are printed as they were read. A sys.exit in a file, which pyinfra obeys in silence, shows where.
UNCONNECTED = (
    "-c",
    """
import json, os, runpy, traceback
from pyinfra.api.state import State

def tell(_, inventory, *__, **___):
    hosts = [{"name": h.name, "groups": [*h.groups], "data": h.data.dict()} for h in inventory]
    print(json.dumps(hosts, default=lambda value: {type(value).__name__: str(value)}), flush=True)
    os._exit(0)

State.init = tell
try:
    runpy.run_module("pyinfra", run_name="__main__")
except SystemExit:
    traceback.print_exc()
""",
)


HOSTS = '[{"name": '
_FRAME = re.compile(r'^ *File "(.+)", line (\d+)', re.MULTILINE)
_CHAINED = re.compile(r"^(?:The above exception was|During handling of the above).+$", re.MULTILINE)
_PYINFRAS = re.compile(r"^--> [\w ]*error(?: in .+? line \d+)?: (.+)$", re.MULTILINE)
# Our own errors carry their sentence; of any other the name says half of it.
_OURS = re.compile(r"^apuhost\.[\w.]+: ")
_MEANING = {
    "IndexError: string index out of range": "a host's name is empty",
    "IndexError: tuple index out of range": "a host's tuple has no data",
}
# Where pyinfra stumbles over what the file gave it, Python's words for that help nobody.
_PYTHONS = re.compile(r"^(?:Attribute|Index|Key|Type|Value)Error: .*")
_IGNORED = re.compile(r'^\s*Ignoring host group "(.+?)"\.', re.MULTILINE)


@dataclass(frozen=True)
class Read:
    """Hosts as pyinfra lists them; `fault` says why pyinfra would not work with them."""

    hosts: tuple[dict[str, Any], ...]
    fault: str = ""


def read(inventory: Path) -> Read:
    """All hosts of an inventory file.

    Raises:
        InventoryError: pyinfra takes too long.
    """
    answer = run(inventory, AS_IT_IS)
    found = hosts(answer.stdout) if answer.returncode == 0 else None
    if found is not None:
        passed_over = _IGNORED.search(answer.stderr)
        return Read(found, sources.ignored(inventory, passed_over[1]) if passed_over else "")
    again = run(inventory, UNCONNECTED)
    why = fault(inventory, answer.stderr) or fault(inventory, again.stderr)
    return Read(hosts(again.stdout) or (), why or f"{shown(inventory)}: pyinfra could not read it")


def run(inventory: Path, how: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """What pyinfra says when it is asked for all hosts.

    Raises:
        InventoryError: it takes too long.
    """
    hosts = given(inventory)
    command = [sys.executable, *how, *hosts.arguments, "debug-inventory", "--json"]
    try:
        return subprocess.run(
            command,
            cwd=roles.CHECKOUT,
            input=hosts.stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InventoryError(
            f"{shown(inventory)}: not read within {TIMEOUT_S} s: what does it wait for?"
        ) from error


def hosts(stdout: str) -> tuple[dict[str, Any], ...] | None:
    """The list in what pyinfra prints, past what the inventory itself may print."""
    start = stdout.find(HOSTS)
    if start < 0:
        return () if stdout.rstrip().endswith("[]") else None
    try:
        return tuple(json.JSONDecoder().raw_decode(stdout, start)[0])
    except ValueError:
        return None


def fault(inventory: Path, stderr: str) -> str | None:
    """In one line, with file and line where they are told, why pyinfra ended; None: no word."""
    sentence = _sentence(stderr)
    if sentence is None:
        return None
    frames = _FRAME.findall(stderr)
    for name, line in reversed(frames):
        if _is_of(inventory, name):
            told = exceptions.advised(_OURS.sub("", sentence), frames[-1][0])
            return f"{shown(Path(name))}:{line}: {told}"
    meaning = _MEANING.get(sentence) or _PYTHONS.sub("something in it is no host", sentence)
    return f"{shown(inventory)}: {meaning}; {HINT}"


def _is_of(inventory: Path, name: str) -> bool:
    """Whether a traceback's file is one that whoever wrote the inventory wrote, also a module."""
    if name in {str(place) for file in files(inventory) for place in (file, file.resolve())}:
        return True
    file, folder = Path(name), inventory.resolve().parent
    foreign = (roles.CHECKOUT / "src", Path(sys.prefix), Path(sys.base_prefix))
    return file.is_relative_to(folder) and not any(map(file.is_relative_to, foreign))


def _sentence(stderr: str) -> str | None:
    """The first line of the exception that came last, or of pyinfra's own error."""
    told = _CHAINED.split(stderr)[-1]
    frames = [*_FRAME.finditer(told)]
    if frames:
        told = told[frames[-1].end() :]
    elif told == stderr:
        found = _PYINFRAS.search(stderr)
        return found[1].replace("::", ":") if found else None
    # A line of code and its mark are indented; pyinfra's own words begin with an arrow.
    lines = (line for line in told.splitlines()[1:] if line.strip())
    return next((line for line in lines if not line.startswith((" ", "-->"))), None)
