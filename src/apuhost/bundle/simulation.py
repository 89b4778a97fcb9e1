"""What apt would do on a host with nothing but a bundle's repository: `apt-get --simulate`."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apuhost.bundle import apt, repository
from apuhost.bundle.apt import Root
from apuhost.bundle.sources import Sources
from apuhost.lockfile import Target
from apuhost.probes.dpkg_status import DpkgStatus

_INSTALLED = re.compile(r"^Inst (\S+) (?:\[(\S+)\] )?\((\S+) ", re.MULTILINE)
_REMOVED = re.compile(r"^(?:Remv|Purg) (\S+)", re.MULTILINE)
_DOWNGRADED = re.compile(
    r"^The following packages will be DOWNGRADED:\n((?:  .*\n)+)", re.MULTILINE
)


@dataclass(frozen=True)
class Step:
    """A package that comes, as dpkg names it; `before` is its version so far, "" without one."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Simulated:
    """All that apt would do."""

    installed: tuple[Step, ...]
    removed: tuple[str, ...]
    downgraded: tuple[str, ...]


@contextmanager
def root(folder: Path, bundle: Path, target: Target, status: DpkgStatus) -> Iterator[Root]:
    """A root with a host's packages, and the bundle's repository alone.

    Raises:
        BundleError: apt does not take the repository, or is not here.
    """
    given = Sources(repository.source(bundle, target.suite))
    with apt.root(folder, target, given, status.text, status.foreign) as made:
        made.update()
        yield made


def simulated(root: Root, names: Iterable[str]) -> Simulated:
    """What installing these packages would do.

    Raises:
        BundleError: it cannot be done: apt's own words.
    """
    return parse(root.run("apt-get", "--simulate", "install", "--", *names))


def parse(text: str) -> Simulated:
    """Read what `apt-get --simulate install` prints."""
    down = _DOWNGRADED.search(text)
    return Simulated(
        tuple(Step(found[1], found[2] or "", found[3]) for found in _INSTALLED.finditer(text)),
        tuple(_REMOVED.findall(text)),
        tuple(down[1].split()) if down else (),
    )
