"""How long `apuhost verify` takes for one host and for many, against one testinfra run a question.

`python scripts/measure_verify.py`, as root; it needs openssh-server. An sshd of its own on loopback
is every host, under as many names; it and all files are gone at the end. In each round, in turns:

- `apuhost verify` as a user types it: Python's start, one ssh connection a host, every probe in
  one script, the verdicts, the report;
- testinfra's ssh backend as it comes: host after host, probe after probe, `host.run` of the
  same command, each over a connection of its own. Only the asking is timed, in a Python that runs
  already; nothing is judged. A whole test run would take longer;
- the same with a `ControlPath` in the ssh config, so that testinfra keeps one connection a host.

All hosts are this one machine, so their probes share its processors, which real hosts do not. With
20 hosts a round takes some ten minutes, nearly all of it testinfra's.
"""

import argparse
import contextlib
import json
import os
import pwd
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import testinfra

from apuhost import roles
from apuhost.round_trip import PROBES, script, unframe

ADDRESS = "127.0.0.1"
MOST_OVER_ONE = 3
LEAST_UNDER_TESTINFRA = 5
START_TIMEOUT_S = 10
PRIVILEGE_SEPARATION = Path("/run/sshd")  # root's sshd insists on it; Debian's unit makes it
MARK = "==measured=="

# All hosts are one sshd: by default it turns some away where more than ten log in at a time.
SSHD_CONFIG = """
Port {port}
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PidFile none
MaxStartups 100
LogLevel ERROR
"""
SSH_CONFIG = """
Host *
HostName {address}
Port {port}
User {user}
IdentityFile {folder}/key
IdentitiesOnly yes
UserKnownHostsFile {folder}/known_hosts
StrictHostKeyChecking yes
"""
ONE_CONNECTION = "ControlPath {folder}/of-%n\n"


@dataclass(frozen=True)
class Lab:
    """The folder of all files, and the names under which sshd is reached."""

    folder: Path
    names: Sequence[str]

    @property
    def config(self) -> Path:
        """Ssh's, for apuhost and testinfra alike."""
        return self.folder / "config"

    @property
    def keeping(self) -> Path:
        """The same, and further commands go over the first one's connection."""
        return self.folder / "config-keeping"


def main() -> None:
    """Run all in turns and print the medians."""
    asked = _arguments()
    with tempfile.TemporaryDirectory() as name:
        lab = Lab(Path(name), [f"box-{number:02}" for number in range(1, asked.hosts + 1)])
        port = _free_port()
        _write(lab, port)
        with _sshd(lab, asked.sshd, port):
            _verify(lab, lab.names)  # once before it counts: Python compiles, files get cached
            times = _in_turns(_measured(lab), asked.rounds)
    _print(times, asked.hosts)


def _arguments() -> argparse.Namespace:
    first_line, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(description=first_line)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    parser.add_argument("--sshd", default=shutil.which("sshd", path=path), help="another one")
    asked = parser.parse_args()
    if asked.sshd is None:
        parser.exit(2, "there is no sshd here: apt-get install openssh-server\n")
    return asked


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((ADDRESS, 0))
        return int(one.getsockname()[1])


def _write(lab: Lab, port: int) -> None:
    """Keys, and the configuration of ssh and sshd."""
    for key in ("host_key", "key"):
        made = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(lab.folder / key))
        subprocess.run(made, check=True)
    host_key = (lab.folder / "host_key.pub").read_text()
    (lab.folder / "known_hosts").write_text(f"[{ADDRESS}]:{port} {host_key}")
    user = pwd.getpwuid(os.getuid()).pw_name
    filled = {"address": ADDRESS, "folder": lab.folder, "port": port, "user": user}
    (lab.folder / "sshd_config").write_text(SSHD_CONFIG.format(**filled))
    lab.config.write_text(SSH_CONFIG.format(**filled))
    lab.keeping.write_text((SSH_CONFIG + ONE_CONNECTION).format(**filled))


@contextlib.contextmanager
def _sshd(lab: Lab, program: str, port: int) -> Iterator[None]:
    """Run sshd until the end of the block."""
    if os.getuid() == 0:
        PRIVILEGE_SEPARATION.mkdir(mode=0o755, exist_ok=True)
    command = (str(Path(program).resolve()), "-D", "-e", "-f", str(lab.folder / "sshd_config"))
    log = lab.folder / "sshd.log"
    with log.open("wb") as written, subprocess.Popen(command, stderr=written) as process:
        try:
            if not _greets(port, process):
                raise SystemExit(f"sshd does not answer: {log.read_text().strip()}")
            yield
        finally:
            process.terminate()


def _greets(port: int, process: "subprocess.Popen[bytes]") -> bool:
    deadline = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((ADDRESS, port), 1) as one:
            return one.recv(4) == b"SSH-"
        time.sleep(0.05)
    return False


def _measured(lab: Lab) -> Mapping[str, Callable[[], float]]:
    """What is timed, by what the table calls it: one host, all, and testinfra's two ways."""
    return {
        "apuhost verify, 1 host": lambda: _verify(lab, lab.names[:1]),
        f"apuhost verify, {len(lab.names)} hosts": lambda: _verify(lab, lab.names),
        "testinfra, a connection a command": lambda: _testinfra(lab.names, lab.config),
        "testinfra, a connection a host": lambda: _testinfra_keeping(lab),
    }


def _in_turns(measured: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {what: [] for what in measured}
    for _ in range(rounds):
        for what, seconds in measured.items():
            times[what].append(seconds())
    return times


def _verify(lab: Lab, names: Sequence[str]) -> float:
    """Wall seconds of one run, which must reach these hosts; the verdicts do not matter."""
    data = {"_sudo": False, "ssh_config_file": str(lab.config)}
    site = lab.folder / "site.py"
    site.write_text(f"hosts = {[(name, data) for name in names]!r}\n")
    found = lab.folder / "found.json"
    found.unlink(missing_ok=True)
    began = time.monotonic()
    done = subprocess.run(
        (sys.executable, "-m", "apuhost.cli", "verify", str(site), "--json", str(found)),
        cwd=roles.CHECKOUT,
        env={**os.environ, "XDG_STATE_HOME": str(lab.folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    if not found.exists():
        raise SystemExit(f"verify left no report (exit {done.returncode}): {done.stderr.strip()}")
    hosts = json.loads(found.read_text())["hosts"]
    reached = [host["host"] for host in hosts if not host["unreachable"]]
    if sorted(reached) != sorted(names):
        raise SystemExit(f"{len(reached)} of {len(names)} hosts were reached:\n{done.stdout}")
    return seconds


def _testinfra(names: Sequence[str], config: Path) -> float:
    """Wall seconds until every host has answered every probe, each a command of its own."""
    began = time.monotonic()
    for name in names:
        host = testinfra.get_host(f"ssh://{name}", ssh_config=str(config))
        for probe in PROBES:
            said = host.run(script(MARK, (probe,))).stdout_bytes.decode(errors="replace")
            if probe not in unframe(MARK, said):
                raise SystemExit(f"{name} does not answer {probe} over testinfra's ssh")
    return time.monotonic() - began


def _testinfra_keeping(lab: Lab) -> float:
    """As `_testinfra`; what ssh kept open is closed afterwards, so that each round opens it."""
    try:
        return _testinfra(lab.names, lab.keeping)
    finally:
        for name in lab.names:
            closing = ("ssh", "-F", str(lab.keeping), "-O", "exit", name)
            subprocess.run(closing, capture_output=True, check=False)


def _print(times: Mapping[str, Sequence[float]], hosts: int) -> None:
    for what, each in times.items():
        spread = f"{min(each):.2f} to {max(each):.2f}"
        print(f"{what:34} median {statistics.median(each):7.2f} s  ({spread})")
    one, many, apart, kept = (statistics.median(each) for each in times.values())
    print(
        f"{hosts} hosts take {many / one:.2f} times as long as one (goal: at most {MOST_OVER_ONE})"
    )
    print(
        f"testinfra takes {apart / many:.1f} times as long as apuhost for {hosts} hosts "
        f"and {len(PROBES)} probes (goal: at least {LEAST_UNDER_TESTINFRA}); "
        f"{kept / many:.1f} times with a ControlPath"
    )


if __name__ == "__main__":
    main()
