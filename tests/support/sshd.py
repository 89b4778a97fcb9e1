"""A real sshd on 127.0.0.1, whose root sees folders of its own for /var/lib, /run and /etc."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apuhost.inventory import Host
from apuhost.rehearsal import ports
from tests.support import bundles

STARTING_S = 20
PROGRAM = "/usr/sbin/sshd"

# What the scripts of an install write lies below /var/lib and /etc: no test touches the real ones.
# Nor is root's own start-up file read, which may do anything and take seconds.
# $1 the folder, $2 the size of its disk.
_IN_ITS_OWN = f"""set -e
mount -t tmpfs -o "size=$2" none "$1/lib"
mount --bind "$1/lib" /var/lib
cp -a /etc "$1/etc"
sed -i 's/^root:[^:]*:/root:*:/' "$1/etc/shadow"
sed -i 's|^root:.*|root:x:0:0:root:/:/bin/sh|' "$1/etc/passwd"
mount --bind "$1/etc" /etc
mount -t tmpfs none /run
mkdir -p /run/sshd
exec {PROGRAM} -D -e -f "$1/sshd_config"
"""

_CONFIGURATION = """\
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/client.pub
PermitRootLogin prohibit-password
PidFile none
StrictModes no
UsePAM no
MaxStartups 100
"""

LACKING = [
    why
    for missing, why in (
        (not Path(PROGRAM).exists(), "openssh-server is not installed"),
        (os.geteuid() != 0, "mounts need root"),
        (not shutil.which("unshare"), "no unshare"),
    )
    if missing
]


@dataclass(frozen=True)
class Sshd:
    """One that runs: where it is reached, and what its root sees."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def data(self) -> dict[str, object]:
        """What an inventory says of it."""
        return {
            "ssh_hostname": "127.0.0.1",
            "ssh_port": self.port,
            "ssh_user": "root",
            "ssh_key": str(self.folder / "client"),
            "ssh_known_hosts_file": str(self.folder / "known hosts"),
        }

    def host(self, name: str = "box", **data: object) -> Host:
        """It as a host of an inventory."""
        return Host(name, (), {**self.data, **data})

    def path(self, absolute: str) -> Path:
        """A file of its own, as seen from here."""
        return Path(f"/proc/{self.process.pid}/root{absolute}")

    def sh(self, script: str) -> str:
        """Run a script as its root does, past ssh."""
        return subprocess.run(
            ["nsenter", "-t", str(self.process.pid), "-m", "sh", "-c", script],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip


@contextmanager
def sshd(folder: Path, disk: str = "64m") -> Iterator[Sshd]:
    """Start it in an empty folder, with a disk of so many bytes for /var/lib; end it afterwards."""
    (port,) = ports.free(1)
    (folder / "lib").mkdir()
    (folder / "sshd_config").write_text(_CONFIGURATION.format(port=port, folder=folder))
    bundles.key(folder / "client")
    public = bundles.public(bundles.key(folder / "host"))
    (folder / "known hosts").write_text(f"[127.0.0.1]:{port} {public}\n")
    words = ["unshare", "--mount", "sh", "-c", _IN_ITS_OWN, "sshd", str(folder), disk]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log)
    try:
        _wait(port, folder / "log")
        yield Sshd(folder, port, process)
    finally:
        process.terminate()
        process.wait()


def _wait(port: int, log: Path) -> None:
    until = time.monotonic() + STARTING_S
    while ports.is_free(port):
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.05)
