"""How long the apply step of a deploy takes that changes nothing, against bare pyinfra.

`python scripts/measure_apply.py inventories/rehearsal/vm.py` on hosts that are deployed already.
Bare pyinfra runs as many operations, each a no-op: one file that is there already. Both run in
turns, in one go; the medians and their ratio are printed.
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
OPERATIONS = 7  # as many as deploy/all.py has; the run below fails if that changes

NO_OPS = """
from pyinfra.operations import files
for path in {paths}:
    files.file(name=f"{{path}} is there", path=path)
"""
PATHS = ["/etc/fstab", "/etc/hosts", "/etc/passwd", "/etc/group", "/etc/hostname", "/etc/profile"]


def main() -> None:
    """Run both in turns and print the medians."""
    path = Path(sys.argv[1]).resolve()
    hosts = [host.name for host in inventory.load(path)]
    apply = engines.pyinfra(path, hosts)
    with tempfile.TemporaryDirectory() as folder:
        deploy = Path(folder) / "no_ops.py"
        deploy.write_text(NO_OPS.format(paths=[*PATHS, "/etc/shells"][:OPERATIONS]))
        bare = (*apply[:-1], str(deploy))
        times: dict[str, list[float]] = {"apuhost": [], "bare pyinfra": []}
        for _ in range(ROUNDS):
            times["apuhost"].append(_seconds(apply))
            times["bare pyinfra"].append(_seconds(bare))
    ours, theirs = (statistics.median(each) for each in times.values())
    for name, each in times.items():
        spread = f"{min(each):.2f} to {max(each):.2f}"
        print(f"{name:14} median {statistics.median(each):.2f} s  ({spread})")
    print(f"ratio {ours / theirs:.2f} with {len(hosts)} hosts, {OPERATIONS} operations each")


def _seconds(command: tuple[str, ...]) -> float:
    """Wall seconds of one run, which must succeed and change nothing."""
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
    ran = len(json.loads(done.stdout)["results"]["operations"])
    if applied.changed or applied.failed or ran != OPERATIONS:
        raise SystemExit(f"not a no-op run of {OPERATIONS} operations: {applied}")
    return seconds


if __name__ == "__main__":
    main()
