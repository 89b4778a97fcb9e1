"""Which hosts of an inventory keep a bundle, and which take from them. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apuhost.bundle.item import BundleError
from apuhost.inventory import Host
from apuhost.settings import Settings
from apuhost.settings.mirror import MirrorSettings


@dataclass(frozen=True)
class Site:
    """A mirror, what is asked of it, and the hosts that take from it; it may be one of them."""

    mirror: Host
    asked: MirrorSettings
    hosts: tuple[Host, ...]


def sites(
    everyone: Iterable[Host], settings: Mapping[str, Settings], asked: Iterable[str]
) -> tuple[Site, ...]:
    """The mirrors that the hosts with the names `asked` take from; others stay untouched.

    Args:
        everyone: all hosts of the inventory: the mirror need not be asked for.
        settings: of every host, by name.
        asked: names of hosts.

    Raises:
        BundleError: none of them has a mirror, or the mirror of one is no host of the inventory,
            or is two of them.
    """
    hosts, names = tuple(everyone), set(asked)
    takers: dict[str, list[Host]] = {}
    for host in hosts:
        if host.name in names and "mirror" in settings[host.name].applied:
            takers.setdefault(settings[host.name].mirror.mirror_address, []).append(host)
    if not takers:
        raise BundleError(
            "no host here has a mirror: set mirror_address, and mirror_serve on the host that is it"
        )
    return tuple(_site(address, hosts, settings, taking) for address, taking in takers.items())


def _site(
    address: str, hosts: Iterable[Host], settings: Mapping[str, Settings], taking: Sequence[Host]
) -> Site:
    serving = [host for host in hosts if _serves(settings[host.name], address)]
    if len(serving) == 1:
        return Site(serving[0], settings[serving[0].name].mirror, tuple(taking))
    if serving:
        both = " and ".join(host.name for host in serving)
        raise BundleError(f"mirror_address {address}: {both} both have mirror_serve: leave it one")
    raise BundleError(
        f"{taking[0].name}: mirror_address {address}: no host of this inventory has it together"
        " with mirror_serve"
    )


def _serves(settings: Settings, address: str) -> bool:
    serves = "mirror" in settings.applied and settings.mirror.mirror_serve
    return serves and settings.mirror.mirror_address == address
