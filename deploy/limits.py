"""How long a host may take over one command: where it hangs it fails, and the others go on."""

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from gevent import Timeout
from paramiko import SSHClient, SSHException
from pyinfra.api.exceptions import PyinfraError
from pyinfra.api.host import Host
from pyinfra.connectors.util import CommandOutput

from apuhost import roles
from apuhost.settings import resolve
from apuhost.settings.host import HostSettings

ASKED_EVERY_S = 15
LOST_AFTER_S = 120
"""A host that has acknowledged nothing for so long is switched off, or cut off."""

LOST = "the connection was lost"
LOOK = "see whether it is still at work there, and run this again"

Done = tuple[bool, CommandOutput]
"""What pyinfra has of a command."""


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it said; `cut_off` is the sentence where it has no end."""

    done: bool = False
    said: CommandOutput = field(default_factory=lambda: CommandOutput([]))
    cut_off: str = ""


def within(host: Host, seconds: float, limit: str, work: Callable[[], Done]) -> Ended:
    """The work; it is cut off after so many seconds, which are the limit of that name.

    It raises nothing: an error that pyinfra does not expect of a command ends the run of all hosts.
    """
    if _is_lost(host):
        return _cut_off(LOST)
    notice_a_lost(host)
    try:
        with Timeout(seconds) as timeout:
            done, said = work()
    except Timeout as ended:
        if ended is not timeout:
            raise
        _hang_up(host)
        return _cut_off(f"no end to it within {seconds:.0f} s ({limit})")
    except EOFError:  # the server went away while a channel was opened
        return _cut_off(LOST)
    except (OSError, SSHException, PyinfraError) as error:
        return _cut_off(LOST if _is_lost(host) else _one_line(error))
    # Lost while it ran, it has no exit status, and perhaps has said nothing.
    return Ended(done, said, "" if done or not _is_lost(host) else f"{LOST}: {LOOK}")


def _cut_off(why: str) -> Ended:
    return Ended(cut_off=f"{why}: {LOOK}")


def notice_a_lost(host: Host) -> None:
    """Let the kernel end a connection whose other end is gone.

    By itself it tries for a quarter of an hour, and for ever where nothing is to be sent (tcp(7)).
    """
    transport = client.get_transport() if (client := _client(host)) else None
    if transport is None:
        return
    transport.set_keepalive(ASKED_EVERY_S)
    # Through a jump host it is no socket; the jump host acknowledges what is sent.
    if isinstance(transport.sock, socket.socket) and hasattr(socket, "TCP_USER_TIMEOUT"):
        lost_after = LOST_AFTER_S * 1000
        with suppress(OSError):  # it is closed: what is run over it next says so
            transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, lost_after)


def allowed(host: Host, key: str) -> int:
    """Seconds by the host's own setting; the default where its settings are wrong (see admit)."""
    resolved, _ = resolve(host.name, dict(host.data.dict()))  # type: ignore[no-untyped-call]
    found = resolved.host if resolved else HostSettings(**roles.defaults("host"))
    return int(getattr(found, key))


def _client(host: Host) -> SSHClient | None:
    """The connection; None where the host is this very machine."""
    client: SSHClient | None = getattr(host.connector, "client", None)
    return client


def _is_lost(host: Host) -> bool:
    """Whether there was a connection, and is none any more."""
    client = _client(host)
    transport = client.get_transport() if client else None
    return client is not None and not (transport and transport.is_active())


def _hang_up(host: Host) -> None:
    """End the connection: what reads from the command that hangs would wait for it to the last."""
    if client := _client(host):
        client.close()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or repr(error)
