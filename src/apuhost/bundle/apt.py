"""apt for another machine: in a folder of its own, which nothing of this machine's apt enters.

Of /etc/apt only the way to the network is taken over (proxies, certificates, checked dates).
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apuhost.bundle import sources
from apuhost.bundle.item import BundleError
from apuhost.bundle.sources import Sources
from apuhost.lockfile import Target
from apuhost.locks import exclusive

_NETWORK = re.compile(
    r"Acquire::(?:https?|ftp|Retries|Check-Date|Check-Valid-Until|Max-ValidTime)(?:::\S+)? .*;"
)
_FOLDERS = (
    "etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d",
    "etc/apt/trusted.gpg.d", "var/cache/apt/archives/partial", "var/lib/apt/lists/partial",
)  # fmt: skip
_SAID = re.compile(r"^(?:[EW]: (.*)| +(\S+ : \S.*))$", re.MULTILINE)


@dataclass(frozen=True)
class Root:
    """A folder that stands in for the / of the target."""

    folder: Path
    suite: str

    @property
    def lists(self) -> Path:
        """Where apt keeps the lists of packages, with the signed files that name them."""
        return self.folder / "var/lib/apt/lists"

    def run(self, *command: str) -> str:
        """What a program of apt's prints.

        Raises:
            BundleError: it failed: its own words.
        """
        done = _started(command, {"APT_CONFIG": str(self.folder / "apt.conf")})
        if done.returncode:
            raise BundleError(f"{self.suite}: {command[0]}: {_why(done)}")
        return done.stdout

    def update(self) -> None:
        """Fetch the lists that changed; apt verifies each by the key that its source names.

        Raises:
            BundleError: one could not be had, or is not signed by that key.
        """
        # Without that mode an update that reached nothing ends well (apt-get(8)).
        self.run("apt-get", "-q", "update", "-o", "APT::Update::Error-Mode=any")


@contextmanager
def root(
    folder: Path, target: Target, given: Sources, status: str, foreign: Sequence[str] = ()
) -> Iterator[Root]:
    """A root with these sources and dpkg's status file; its lists stay for the next time.

    Packages of `foreign` architectures may be there, too. Who comes second to the same folder
    waits.

    Raises:
        BundleError: apt is not here, or the sources switch off that signatures are checked.
    """
    with exclusive(folder / "lock"):
        for name in _FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "etc/apt/sources.list.d/target.sources").write_text(
            sources.checked(given.text), encoding="utf-8"
        )
        (folder / "etc/apt/preferences.d/target").write_text(given.preferences, encoding="utf-8")
        (folder / "status").write_text(status, encoding="utf-8")
        dump = _started(("apt-config", "dump"), {}).stdout
        (folder / "apt.conf").write_text(configuration(folder, target, foreign) + network(dump))
        yield Root(folder, target.suite)


def configuration(folder: Path, target: Target, foreign: Sequence[str] = ()) -> str:
    """apt.conf(5) of a root. APT_CONFIG is read first, and so decides where the others are.

    The sandbox's user could not read a folder below a home; the lists' signatures are what counts.
    Phased updates are taken always: whether a machine is in a phase depends on its own id.
    """
    architectures = " ".join(f'"{each}";' for each in (target.architecture, *foreign))
    return f"""\
Dir "{folder}/";
Dir::State::status "{folder}/status";
Dir::Etc::Trusted "{folder}/none";
APT::Architecture "{target.architecture}";
APT::Architectures {{ {architectures} }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Get::Always-Include-Phased-Updates "true";
APT::Get::Assume-Yes "true";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
Acquire::ForceHash "SHA256";
"""


def network(dump: str) -> str:
    """A machine's own way to its package sources, out of what `apt-config dump` prints."""
    return "".join(f"{line}\n" for line in _NETWORK.findall(dump))


def _started(command: tuple[str, ...], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"LC_ALL": "C.UTF-8"} | environ,
        )
    except FileNotFoundError as error:
        raise BundleError(
            f"{command[0]} is not here: packages are resolved by apt itself: use Debian or Ubuntu"
        ) from error


def _why(done: subprocess.CompletedProcess[str]) -> str:
    """What apt warned of, failed at, and which dependencies it cannot meet, in one line."""
    said = [found[1] or found[2] for found in _SAID.finditer(f"{done.stdout}\n{done.stderr}")]
    return "; ".join(dict.fromkeys(" ".join(line.split()) for line in said)) or "it failed"
