"""How long a host may take over one command: where it hangs it fails, and the others go on."""

import socket
from collections.abc import Callable

from gevent import Timeout
from pyinfra import logger
from pyinfra.api.host import Host
from pyinfra.connectors.util import CommandOutput

from apuhost import roles
from apuhost.settings import resolve
from apuhost.settings.host import HostSettings

ASKED_EVERY_S = 15
LOST_AFTER_S = 120
"""A host that has acknowledged nothing for so long is switched off, or cut off."""

Done = tuple[bool, CommandOutput]


def within(host: Host, key: str, work: Callable[[], Done]) -> Done:
    """The work, which fails after as many seconds as the host's setting `key` gives it."""
    seconds = getattr(_settings(host), key)
    limit = Timeout(seconds)
    notice_a_lost(host)
    try:
        with limit:
            return work()
    except Timeout as ended:
        if ended is not limit:
            raise
    _hang_up(host)
    logger.error(
        "%sno end to it within %d s (%s): given up, but it may still be at work there",
        *(host.print_prefix, seconds, key),
    )
    return False, CommandOutput([])


def notice_a_lost(host: Host) -> None:
    """Let the kernel end a connection whose other end is gone.

    By itself it tries for a quarter of an hour, and for ever where nothing is to be sent (tcp(7)).
    """
    client = getattr(host.connector, "client", None)
    transport = client.get_transport() if client else None
    if transport is None:
        return
    transport.set_keepalive(ASKED_EVERY_S)
    # Through a jump host it is no socket; the jump host acknowledges what is sent.
    if isinstance(transport.sock, socket.socket) and hasattr(socket, "TCP_USER_TIMEOUT"):
        lost_after = LOST_AFTER_S * 1000
        transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, lost_after)


def _hang_up(host: Host) -> None:
    """End the connection: what reads from the command that hangs would wait for it to the last."""
    if client := getattr(host.connector, "client", None):
        client.close()


def _settings(host: Host) -> HostSettings:
    """The host's own; the defaults where its settings are wrong, which `admit` tells."""
    resolved, _ = resolve(host.name, dict(host.data.dict()))  # type: ignore[no-untyped-call]
    return resolved.host if resolved else HostSettings(**roles.defaults("host"))
