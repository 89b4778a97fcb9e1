"""How long the apply step of a deploy takes that changes nothing, on one host and on many.

`python -m scripts.measure_fleet`, as root: a box over an sshd of this machine, with the role boot,
is every target, under as many names; it needs openssh-server. With an inventory, its first host is,
which must be deployed already: `... inventories/rehearsal/vm.py`. In each round, in turns:

- apuhost: pyinfra as `apuhost deploy` starts it;
- bare pyinfra with as many operations, each a no-op: one file that is there already (pyinfra asks
  for each file by itself);
- `ansible-playbook` over the roles of this checkout, where Python has it beside itself, with
  pipelining and as many forks as targets.

The medians are printed as the table that docs/fleet.md shows; `--write` puts it there. All targets
are one machine, so what runs there shares its processors, which real hosts do not.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from tests.support import boot_box

from apuhost import engines, inventory, roles
from apuhost.inventory import Host
from apuhost.settings import as_data

PAGE = roles.CHECKOUT / "docs" / "fleet.md"
MEASURED = re.compile(r"(<!-- measured -->\n).*(<!-- end -->)", re.DOTALL)
PLAYBOOK = roles.CHECKOUT / "playbooks" / "site.yml"
ANSIBLE = Path(sys.executable).parent / "ansible-playbook"

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
RETRIES = 20
"""One sshd under many names turns some away where more than ten log in at a time."""

COMPARED = (("apuhost", "bare pyinfra"), ("ansible-playbook", "apuhost"))
"""Goals: at most 1.3, and at least 5."""

AS_ANSIBLE = {
    "ssh_hostname": "ansible_host",
    "ssh_port": "ansible_port",
    "ssh_user": "ansible_user",
    "ssh_key": "ansible_ssh_private_key_file",
}

Measured = Mapping[str, Callable[[], float]]


@dataclass(frozen=True)
class Fleet:
    """So many targets: their names, and the folder of what tells of them."""

    folder: Path
    names: Sequence[str]

    @property
    def site(self) -> Path:
        """The inventory of pyinfra."""
        return self.folder / "site.py"

    @property
    def hosts(self) -> Path:
        """The one of Ansible."""
        return self.folder / "hosts.json"


def main() -> None:
    """Measure each number of targets and print the table."""
    asked = _arguments()
    medians: dict[int, dict[str, float]] = {}
    with nullcontext(asked.inventory) if asked.inventory else _box() as path:
        host, *_ = inventory.load(path)
        for count in asked.targets:
            with tempfile.TemporaryDirectory() as folder:
                measured = _measured(_fleet(Path(folder), path, host, count))
                times = _in_turns(measured, asked.rounds)
            medians[count] = {what: statistics.median(each) for what, each in times.items()}
            print(f"{count}: {times}", flush=True)
    table = _table(medians, asked.rounds)
    print(table)
    if asked.write:
        PAGE.write_text(MEASURED.sub(rf"\g<1>{table}\n\g<2>", PAGE.read_text()))


def _arguments() -> argparse.Namespace:
    first_line, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(description=first_line)
    parser.add_argument("inventory", type=Path, nargs="?", help="of a deployed host")
    parser.add_argument("--targets", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="the table into docs/fleet.md")
    return parser.parse_args()


@contextmanager
def _box() -> Iterator[Path]:
    """The inventory of a box of its own, deployed."""
    with tempfile.TemporaryDirectory() as name, boot_box.bare(Path(name) / "box") as found:
        site = Path(name) / "box.py"
        site.write_text(f"hosts = {[('box', {**found.data, 'host_roles': ['boot']})]!r}\n")
        engines.apply(site, ["box"], print)
        yield site


def _fleet(folder: Path, path: Path, host: Host, count: int) -> Fleet:
    """The host under so many names, for pyinfra and for Ansible."""
    fleet = Fleet(folder, [f"target-{number:03}" for number in range(1, count + 1)])
    data = {
        "ssh_hostname": host.name,
        **host.data,
        "ssh_connect_retries": RETRIES,
        "ssh_strict_host_key_checking": "yes",
    }
    fleet.site.write_text(f"hosts = {[(name, data) for name in fleet.names]!r}\n")
    settings = inventory.settings(path, [host])[host.name]
    variables = as_data(settings) | {
        theirs: data[ours] for ours, theirs in AS_ANSIBLE.items() if ours in data
    }
    variables["ansible_become"] = bool(data.get("_sudo"))  # the playbook's own word gives way
    known = data.get("ssh_known_hosts_file")
    if known:
        # Quoted for ssh, too, which splits at blanks.
        variables["ansible_ssh_common_args"] = f"-o 'UserKnownHostsFile=\"{known}\"'"
    listed = {"hosts": dict.fromkeys(fleet.names, variables)}
    fleet.hosts.write_text(json.dumps({"all": {"children": {"apuhost": listed}}}))
    return fleet


def _measured(fleet: Fleet) -> Measured:
    """What is timed, by its column; each has run once before it counts."""
    apply = engines.pyinfra(fleet.site, fleet.names)
    _, operations = _pyinfra(apply)
    no_ops = fleet.folder / "no_ops.py"
    no_ops.write_text(NO_OPS.format(names=COREUTILS.split()[:operations]))
    bare = (*apply[:-1], str(no_ops))
    measured = {
        "apuhost": lambda: _seconds(apply, operations),
        "bare pyinfra": lambda: _seconds(bare, operations),
    }
    _seconds(bare, operations)
    if ANSIBLE.is_file():
        measured["ansible-playbook"] = lambda: _ansible(fleet)
        _ansible(fleet)
    return measured


def _in_turns(measured: Measured, rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {what: [] for what in measured}
    for _ in range(rounds):
        for what, seconds in measured.items():
            times[what].append(round(seconds(), 2))
    return times


def _seconds(command: Sequence[str], operations: int) -> float:
    """Wall seconds of one run of so many operations."""
    seconds, ran = _pyinfra(command)
    if ran != operations:
        raise SystemExit(f"{ran} operations ran, not {operations}: the two cannot be compared")
    return seconds


def _pyinfra(command: Sequence[str]) -> tuple[float, int]:
    """Wall seconds and operations of one run, which must succeed and change nothing."""
    seconds, done = _timed(command, {"PYINFRA_PROGRESS": "off"})
    applied = engines.applied(done.stdout, done.returncode)
    if applied.changed or applied.failed:
        raise SystemExit(f"not a run that changes nothing: {applied}\n{done.stderr}")
    return seconds, len(json.loads(done.stdout)["results"]["operations"])


def _ansible(fleet: Fleet) -> float:
    """Wall seconds of one run of the playbook, which must change nothing."""
    forks = str(len(fleet.names))
    command = (str(ANSIBLE), "-i", str(fleet.hosts), "--forks", forks, str(PLAYBOOK))
    seconds, done = _timed(
        command,
        {
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_SSH_RETRIES": str(RETRIES),
            "ANSIBLE_ROLES_PATH": str(roles.CHECKOUT / "roles"),
        },
    )
    quiet = len(re.findall(r" changed=0 .*failed=0 ", done.stdout))
    if done.returncode or quiet != len(fleet.names):
        raise SystemExit(f"not a run that changes nothing:\n{done.stdout[-4000:]}{done.stderr}")
    return seconds


def _timed(
    command: Sequence[str], environ: Mapping[str, str]
) -> tuple[float, "subprocess.CompletedProcess[str]"]:
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=roles.CHECKOUT,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return time.monotonic() - began, done


def _table(medians: Mapping[int, Mapping[str, float]], rounds: int) -> str:
    """A row for each number of targets, the medians in seconds, and how they compare."""
    columns = list(next(iter(medians.values())))
    ratios = [(above, below) for above, below in COMPARED if {above, below} <= {*columns}]
    head = ["targets", *columns, *map(" / ".join, ratios)]
    lines = [_row(head), _row(["---"] * len(head))]
    for count, found in medians.items():
        compared = [f"{found[above] / found[below]:.2f}" for above, below in ratios]
        lines.append(_row([str(count), *(f"{found[each]:.2f}" for each in columns), *compared]))
    return "\n".join([f"Seconds, medians of {rounds} runs in turns:", "", *lines])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
