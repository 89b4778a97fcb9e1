"""A host cut off from outside, rebooted, and read again; the cut always ends."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_network

from apuhost import gather
from apuhost.bundle import remote
from apuhost.bundle.item import BundleError
from apuhost.changes import cut, needed
from apuhost.changes.cut import Networks
from apuhost.changes.scripts import REBOOT
from apuhost.connection import is_local
from apuhost.errors import ApuhostError
from apuhost.gather import Unreachable
from apuhost.host_facts import HostFacts, Unreadable
from apuhost.inventory import Host
from apuhost.probes.mirror import APT_OPTIONS
from apuhost.settings import Settings
from apuhost.verdicts import acceptance

BEFORE = ("boot", "os_release", "grub_cfg", "containers", "outbound")
AFTER = ("boot", "containers", "outbound")
LOOK_EVERY_S = 5
SETTLED_S = 900
QUIET_S = 120
"""How long a boot is watched at least: programs ask outside when they start."""

# apt's timers, too, update after a boot: the lists are locked for a moment then.
APT = f"""for again in 1 2 3; do
  said=$(apt-get -q {APT_OPTIONS} update -o APT::Update::Error-Mode=any 2>&1) &&
    said=$(apt-get -q -s {APT_OPTIONS} install --no-install-recommends --no-remove -- "$@" 2>&1) &&
    exit 0
  sleep 10
done
printf 'apt-get: %s\\n' "$said" | tail -n 3"""

Say = Callable[[str], None]


class AcceptError(BundleError):
    """A host that cannot be cut off, or did not come back."""


@dataclass(frozen=True)
class Candidate:
    """A host that is to do without the outside; what it was before, and what is let through."""

    host: Host
    settings: Settings
    before: HostFacts
    passage: cut.Passage


def networks(texts: tuple[str, ...]) -> Networks:
    """What an operator lets through, as addresses or networks.

    Raises:
        AcceptError: one is none.
    """
    found = []
    for text in texts:
        try:
            found.append(ip_network(text))
        except ValueError as error:
            raise AcceptError(f"--allow {text}: {error}") from error
    return tuple(found)


def candidate(host: Host, settings: Settings, allowed: Networks) -> Candidate:
    """The host, read and found fit to be cut off.

    Raises:
        AcceptError: it is not, and what to do.
        Unreachable: it is not reached.
    """
    if is_local(host):
        raise AcceptError("@local: accept reboots the host: run it from another machine")
    before = _read(host, BEFORE)
    try:
        passage = cut.passage(settings.mirror, before.outbound, allowed)
        why = tuple(acceptance.obstacles(settings, before, passage))
    except Unreadable as error:
        why = (f"cannot be judged: {error}",)
    if why:
        raise AcceptError(f"{host.name}: {'; '.join(why)}")
    return Candidate(host, settings, before, passage)


@contextmanager
def cut_off(asked: Candidate, say: Say) -> Iterator[None]:
    """The host is cut off, and no more afterwards.

    Raises:
        HostError: it could not be cut off, and is as before.
        Unreachable: it is not reached.
    """
    remote.run(asked.host, cut.begin(asked.passage))
    say(f"cut off; by itself it ends {cut.MINUTES} min after its boot")
    try:
        yield
    finally:
        try:
            remote.run(asked.host, cut.END)
            say("no more cut off")
        except ApuhostError as error:
            say(f"not reached to end it ({error}): it ends by itself within {cut.MINUTES} min")


def reboot(asked: Candidate, say: Say) -> None:
    """Reboot, as a deploy does, and wait for another boot that has come to rest.

    Raises:
        AcceptError: it did not come back in time.
        HostError: its boot menu, or a package that is being installed, forbids it.
        Unreachable: it was not reached to be rebooted.
    """
    boot_id = asked.before.boot.boot_id
    words = (boot_id, *asked.before.grub_cfg.kernel_files)
    remote.run(asked.host, REBOOT, words)
    seconds = asked.settings.host.host_reboot_timeout_s
    say("rebooting")
    if not _until(seconds, lambda: _booted(asked.host, boot_id)):
        raise AcceptError(
            f"{asked.host.name}: did not come back within {seconds} s: look at its console; "
            "the next boot is not cut off"
        )
    say("back; waiting until everything has started")
    if not _until(SETTLED_S, lambda: _settled(asked.host)):
        say(f"after {SETTLED_S} s something still starts")


def packages(asked: Candidate) -> str:
    """What apt says when it could not read the mirror's packages, or would not install ours."""
    family = asked.before.os_release.family
    names = needed.on_bare_host(asked.settings, family)
    return remote.run(asked.host, APT, names).decode(errors="replace").strip()


def after(asked: Candidate) -> HostFacts:
    """What is read at the end, before the cut is lifted."""
    return _read(asked.host, AFTER)


def _read(host: Host, probes: tuple[str, ...]) -> HostFacts:
    found = gather.gather([host], probes)[host.name]
    if isinstance(found, Unreachable):
        raise Unreachable(f"{host.name}  not reached: {found}")
    return found


def _booted(host: Host, boot_id: str) -> bool:
    try:
        return _read(host, ("boot",)).boot.boot_id != boot_id
    except (Unreachable, Unreadable):
        return False


def _settled(host: Host) -> bool:
    try:
        found = _read(host, AFTER)
        return acceptance.settled(found) and (found.boot.uptime_s or 0) >= QUIET_S
    except (Unreachable, Unreadable):
        return False


def _until(seconds: int, holds: Callable[[], bool]) -> bool:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if holds():
            return True
        time.sleep(LOOK_EVERY_S)
    return False
