"""How long the apply step of a deploy takes that changes nothing, against bare pyinfra.

`python scripts/measure_apply.py inventories/rehearsal/vm.py` on hosts that are deployed already.
Bare pyinfra runs as many operations, each a no-op: one file that is there already (pyinfra asks
for each file by itself). Both run in turns, in one go; the medians and their ratio are printed.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from apuhost import engines, inventory, roles

ROUNDS = 5

NO_OPS = """
from pyinfra.operations import files
for name in {names}:
    files.file(name=f"{{name}} is there", path=f"/usr/bin/{{name}}")
"""
COREUTILS = (
    "base64 basename cksum comm csplit cut dirname du env expand expr factor fmt fold groups head "
    "hostid id install join link logname md5sum nl nohup nproc numfmt od paste pathchk pr printenv "
    "printf ptx seq sha1sum sha256sum shred shuf sort split stat stdbuf sum tac tail tee"
)


def main() -> None:
    """Run both in turns and print the medians."""
    path = Path(sys.argv[1]).resolve()
    hosts = [host.name for host in inventory.load(path)]
    apply = engines.pyinfra(path, hosts)
    _, operations = _run(apply)
    with tempfile.TemporaryDirectory() as folder:
        deploy = Path(folder) / "no_ops.py"
        deploy.write_text(NO_OPS.format(names=COREUTILS.split()[:operations]))
        bare = (*apply[:-1], str(deploy))
        times: dict[str, list[float]] = {"apuhost": [], "bare pyinfra": []}
        for _ in range(ROUNDS):
            times["apuhost"].append(_seconds(apply, operations))
            times["bare pyinfra"].append(_seconds(bare, operations))
    ours, theirs = (statistics.median(each) for each in times.values())
    for name, each in times.items():
        spread = f"{min(each):.2f} to {max(each):.2f}"
        print(f"{name:14} median {statistics.median(each):.2f} s  ({spread})")
    print(f"ratio {ours / theirs:.2f} with {len(hosts)} hosts, {operations} operations each")


def _seconds(command: tuple[str, ...], operations: int) -> float:
    """Wall seconds of one run of so many operations."""
    seconds, ran = _run(command)
    if ran != operations:
        raise SystemExit(f"{ran} operations ran, not {operations}: the two cannot be compared")
    return seconds


def _run(command: tuple[str, ...]) -> tuple[float, int]:
    """Wall seconds and operations of one run, which must succeed and change nothing."""
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=roles.CHECKOUT,
        env={**os.environ, "PYINFRA_PROGRESS": "off"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.monotonic() - began
    applied = engines.applied(done.stdout, done.returncode)
    if applied.changed or applied.failed:
        raise SystemExit(f"not a run that changes nothing: {applied}")
    return seconds, len(json.loads(done.stdout)["results"]["operations"])


if __name__ == "__main__":
    main()
