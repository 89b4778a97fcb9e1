"""A verified bundle brought to a mirror's host: what lies there is left, what was cut off goes on.

A file that is there with its size is not sent again; at the end the host hashes all of them, and
what is wrong is sent once more. Only then the bundle is marked as whole.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import IO

from apuhost.bundle import load as loading
from apuhost.bundle import manifest, plain, receiving, remote, sending, sizes
from apuhost.bundle.hashing import Told
from apuhost.bundle.load import Held, Load
from apuhost.bundle.manifest import Entry, ManifestError
from apuhost.bundle.remote import HostError
from apuhost.bundle.verifying import Bundle
from apuhost.inventory import Host
from apuhost.probes.mirror_serving import BUNDLES

_AGAIN = "run it again: it goes on where it ended"
_SLOWEST = 1_000_000  # bytes a second; whoever is slower is cut off, and goes on
_HASHED = 20_000_000


@dataclass(frozen=True)
class _Delivery:
    """A bundle on its way to a host; `entries` are all its files, the manifest's own two first."""

    bundle: Bundle
    host: Host
    entries: tuple[Entry, ...]
    told: Told

    @property
    def serial(self) -> str:
        """As its folder is named."""
        return str(self.bundle.lock.serial)


def install(bundle: Bundle, host: Host, told: Told) -> None:
    """Bring a bundle to its place on a host, whole and marked.

    Args:
        bundle: of a folder that was just verified.
        host: where it goes.
        told: is told of bytes as they are there.

    Raises:
        HostError: another bundle of this serial is there, there is no room, the connection broke,
            or the host's disk does not give back what was written.
        BundleError: the bundle's folder cannot be read any more.
        Unreachable: the host is not reached.
    """
    delivery = _Delivery(bundle, host, _files(bundle), told)
    held = survey(host)
    _check_serial(delivery, held)
    bad = _brought(delivery, held, _earlier(delivery, held))
    if bad:
        # Torn by a power cut, or wrong in the bundle that was linked: sent anew, linked no more.
        _forget(delivery, bad)
        bad = _brought(delivery, survey(host), {})
    if bad:
        _forget(delivery, bad)
        raise HostError(
            f"{host.name}: the disk of {BUNDLES} does not give back what was written"
            f" ({len(bad)} files; {bad[0]}): is it sound?"
        )


def check(bundle: Bundle, host: Host) -> None:
    """Whether a host has this very bundle, whole.

    Raises:
        HostError: it has not.
        Unreachable: the host is not reached.
    """
    marked = survey(host).whole.get(str(bundle.lock.serial))
    if marked != _files(bundle)[0].sha256:
        raise HostError(
            f"{host.name}: is the mirror, and has not this bundle: install it there first"
            " (without --limit, or with it)"
        )


def survey(host: Host) -> Held:
    """What lies below a host's folder of bundles."""
    return receiving.held(host, remote.run(host, receiving.SURVEY))


def _files(bundle: Bundle) -> tuple[Entry, ...]:
    # The host hashes by the manifest: by the one that was verified, whatever the drive says now.
    listed = manifest.entry(manifest.NAME, manifest.as_text(bundle.manifest).encode())
    signature = plain.content(bundle.folder / manifest.SIGNATURE, manifest.MOST_BYTES)
    return (listed, manifest.entry(manifest.SIGNATURE, signature), *bundle.manifest.files)


def _check_serial(delivery: _Delivery, held: Held) -> None:
    """What may be in use is not written over."""
    if held.whole.get(delivery.serial) not in (None, delivery.entries[0].sha256):
        raise HostError(
            f"{delivery.host.name}: has another bundle of serial {delivery.serial}: make this one"
            " again, its lock over the lock of the newest one, so that its serial is higher"
        )


def _earlier(delivery: _Delivery, held: Held) -> Mapping[tuple[str, int], str]:
    """Files that the host has in its newest other bundle, by hash and size."""
    others = [each for each in held.whole if each.isdecimal() and each != delivery.serial]
    if not others:
        return {}
    newest = max(others, key=int)
    try:
        listed = manifest.parse(remote.run(delivery.host, receiving.MANIFEST, (newest,)))
    except (HostError, ManifestError):  # then all is sent
        return {}
    return loading.places(newest, listed.files, held)


def _brought(
    delivery: _Delivery, held: Held, earlier: Mapping[tuple[str, int], str]
) -> tuple[str, ...]:
    """Send what is lacking. Returns what is not as it should be then."""
    load = loading.load(delivery.serial, delivery.entries, held, earlier)
    _check_room(delivery.host, load, held)
    if load.leaving:
        _remove(delivery, load.leaving)
    delivery.told(sum(entry.size for entry in delivery.entries) - load.size)
    _send(delivery, load)
    signed = (entry.sha256 for entry in delivery.entries[: len(manifest.OWN)])
    seconds = remote.SECONDS + delivery.bundle.manifest.size // _HASHED
    answer = remote.run(delivery.host, receiving.CHECK, (delivery.serial, *signed), seconds=seconds)
    return receiving.bad(answer)


def _check_room(host: Host, load: Load, held: Held) -> None:
    if load.room > held.free:
        raise HostError(
            f"{host.name}: {BUNDLES} has room for {sizes.shown(held.free)}, and"
            f" {sizes.shown(load.room)} would come: make room there (apuhost bundle prune takes"
            " away older bundles), or mount a larger disk"
        )


def _send(delivery: _Delivery, load: Load) -> None:
    bundle, host, told = delivery.bundle, delivery.host, delivery.told
    try:
        give = partial(sending.stream, bundle=bundle, load=load, told=told)
        remote.run(host, receiving.UNPACK, (), give, _seconds(load.size))
        for entry, begun in load.large:
            rest = partial(sending.rest, bundle=bundle, entry=entry, begun=begun, told=told)
            words = (f"{delivery.serial}/{entry.path}", str(begun))
            remote.run(host, receiving.APPEND, words, rest, _seconds(entry.size))
    except HostError as error:
        raise HostError(f"{error}; {_AGAIN}") from error


def _seconds(size: int) -> int:
    return remote.SECONDS + size // _SLOWEST


def _forget(delivery: _Delivery, bad: Iterable[str]) -> None:
    _remove(delivery, (f"{delivery.serial}/{path}" for path in bad))


def _remove(delivery: _Delivery, paths: Iterable[str]) -> None:
    names = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)

    def give(sink: IO[bytes]) -> None:
        sink.write(names)

    remote.run(delivery.host, receiving.FORGET, (delivery.serial,), give)
