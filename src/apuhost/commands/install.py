"""`apuhost bundle install` and `prune`: a bundle on its mirror, and hosts that take from it."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from apuhost import inventory
from apuhost.bundle import installing, placing, pruning, remote, sizes
from apuhost.bundle.authority import authority
from apuhost.bundle.refusal import RefusedError
from apuhost.bundle.sites import Site, sites
from apuhost.bundle.verifying import Bundle
from apuhost.commands import bundle as bundles
from apuhost.commands import deploy, terminal
from apuhost.commands.progress import progress
from apuhost.errors import ApuhostError
from apuhost.inventory import Host
from apuhost.report import visible

_T = TypeVar("_T")


@dataclass(frozen=True)
class Asked:
    """Which bundle goes to which hosts.

    Attributes:
        folder: of the bundle.
        signers: ssh-keygen's list of allowed signers.
        path: the inventory.
        limits: hosts or groups of it; none is all of them.
        reason: why an older serial is let in; "" lets none in.
    """

    folder: Path
    signers: Path
    path: Path
    limits: Sequence[str]
    reason: str


def install(asked: Asked, *, yes: bool) -> int:
    """Check the bundle, bring it to its mirror, and deploy the hosts that take from it."""
    found = _sites(asked.path, asked.limits)
    bundle = bundles.checked(asked.folder, asked.signers, asked.reason)
    answering = _answering(bundle, found, asked.reason)
    answers = _in_turn(found, lambda site: _brought(bundle, site))
    brought = _good(answers)
    ready = [
        name
        for site in found
        if site.mirror.name in brought
        for name in _told(site, brought[site.mirror.name], answering)
    ]
    status = deploy.run(asked.path, ready, yes=yes) if ready else 0
    everyone = sum(len(site.hosts) for site in found)
    return status or _status(answers) or (0 if len(ready) == everyone else 2)


def prune(path: Path, limits: Sequence[str], *, yes: bool) -> int:
    """Remove what is older than the bundle that each mirror serves."""
    answers = _in_turn(_sites(path, limits), lambda site: _prune(site.mirror, yes=yes))
    _good(answers)
    return _status(answers)


def _prune(host: Host, *, yes: bool) -> None:
    found = pruning.older(host)
    kept = f"{host.name}  serves serial {found.served}"
    going = ", ".join(map(str, found.serials))
    if not going:
        print(f"{kept}; no older one is there")
    elif yes or terminal.agreed(f"{kept}; remove {going}?"):
        freed = pruning.prune(host, found.serials)
        print(f"{kept}; removed: {going}; {sizes.shown(freed)} more are free")


def _sites(path: Path, limits: Sequence[str]) -> tuple[Site, ...]:
    everyone = inventory.load(path)
    asked = inventory.load(path, limits) if limits else everyone
    return sites(everyone, inventory.settings(path, everyone), [host.name for host in asked])


def _answering(bundle: Bundle, found: Iterable[Site], reason: str) -> frozenset[str]:
    """Hosts that say what they have; the others are told of, and left out.

    Raises:
        RefusedError: one has a newer bundle's lock, and no reason is given.
    """
    hosts = [host for site in found for host in site.hosts]
    serials = _good(remote.each(hosts, placing.serial))
    newer = {name: each for name, each in serials.items() if each > bundle.lock.serial}
    for name, each in newer.items() if not reason else ():
        raise RefusedError(
            f"{name}: has serial {each}, and this bundle is of serial {bundle.lock.serial}: take"
            " the newer one, or give a reason (--older REASON)"
        )
    return frozenset(serials)


def _in_turn(found: Iterable[Site], do: Callable[[Site], _T]) -> dict[str, _T | ApuhostError]:
    """What is done of each site by its mirror's name; one that cannot ends no other."""
    done: dict[str, _T | ApuhostError] = {}
    for site in found:
        try:
            done[site.mirror.name] = do(site)
        except ApuhostError as error:
            done[site.mirror.name] = error
    return done


def _brought(bundle: Bundle, site: Site) -> Mapping[str, bytes]:
    """The bundle on its mirror, and then what the site's hosts know that by.

    A mirror that --limit leaves out is only asked whether it has it.
    """
    name = site.mirror.name
    if name in {host.name for host in site.hosts}:
        with progress(f"{name}  there", bundle.manifest.size) as told:
            installing.install(bundle, site.mirror, told)
        print(visible(f"{name}  has the bundle; every file was hashed there"), flush=True)
    else:
        installing.check(bundle, site.mirror)
    return placing.files(bundle, authority(site.mirror, site.asked, bundle.lock))


def _told(site: Site, files: Mapping[str, bytes], answering: frozenset[str]) -> list[str]:
    """Give hosts what they know their mirror by; the names of those that have it then."""
    hosts = [host for host in site.hosts if host.name in answering]
    return list(_good(remote.each(hosts, lambda host: placing.place(host, files))))


def _good(answers: Mapping[str, _T | ApuhostError]) -> dict[str, _T]:
    """What hosts answered; of each that gave no answer the reason is said."""
    for answer in answers.values():
        if isinstance(answer, ApuhostError):
            print(visible(str(answer)), file=sys.stderr)
    return {name: each for name, each in answers.items() if not isinstance(each, ApuhostError)}


def _status(answers: Mapping[str, object]) -> int:
    """The exit status: 1, that of a mirror which failed, before 2, of one that is not reached."""
    failed = (each for each in answers.values() if isinstance(each, ApuhostError))
    return min((each.exit_status for each in failed), default=0)
