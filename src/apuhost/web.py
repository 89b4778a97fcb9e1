"""HTTP as apuhost asks it: one kind of client, and what is wrong with an answer, in one line.

Proxies are those of the environment. Trusted are the certificates of this system and those of
SSL_CERT_FILE, as OpenSSL itself reads it: a site's CA stands beside the public ones.
"""

import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import version
from ipaddress import ip_address
from typing import Any

import httpx

Get = Callable[[str, int], AbstractContextManager[httpx.Response]]
"""Asks for a URL's bytes from an offset on; the answer's body is not read yet."""

NO_ADDRESS = (httpx.InvalidURL, UnicodeError)
"""Raised for an address that none can have, the second by Python's idna codec ("a..b")."""

_SECONDS = 30  # without a single byte
_TOO_MANY = 429
_PASSING = frozenset({httpx.codes.REQUEST_TIMEOUT, _TOO_MANY})
_TO_DO = {
    401: "it asks for a login: is the address right, is this machine logged in?",
    403: "it refuses this machine: is the address right, is a login needed?",
    404: "it is not there: is the name right, was it deleted?",
    407: "the proxy asks for a login: write it into HTTPS_PROXY",
    _TOO_MANY: "it was asked too often: wait, then run this again",
}
_ODD = "nothing can be made of that: is the address right?"
_SERVER = "the server is in trouble: run this again later"
# Go's HTTP client, and so Docker and Ollama, never asks a proxy for these.
_STRAIGHT = ("all://localhost", "all://127.0.0.1", "all://[::1]")


def client(transport: httpx.BaseTransport | None = None) -> httpx.Client:
    """A client that follows redirects, and takes bytes as they are, never compressed on the way.

    A transport of another's making has its own way to servers, and its own trust.
    """
    habits: dict[str, Any] = {
        "headers": {"Accept-Encoding": "identity", "User-Agent": f"apuhost/{version('apuhost')}"},
        "follow_redirects": True,
        "timeout": _SECONDS,
    }
    if transport is not None:
        return httpx.Client(transport=transport, **habits)
    trust = ssl.create_default_context()
    return httpx.Client(verify=trust, mounts=dict.fromkeys(_STRAIGHT), **habits)


def getter(asking: httpx.Client) -> Get:
    """Plain downloads over a client."""

    @contextmanager
    def get(url: str, offset: int) -> Iterator[httpx.Response]:
        with asking.stream("GET", url, headers=from_offset(offset)) as response:
            yield response

    return get


def from_offset(offset: int) -> dict[str, str]:
    """The header that asks for what follows the first bytes."""
    return {"Range": f"bytes={offset}-"} if offset else {}


def is_loopback(host: str) -> bool:
    """Whether a URL's host is this machine, by what it is called."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def fault(response: httpx.Response, url: str) -> str:
    """What is wrong with an answer and what to do; "" when its body is what was asked for.

    The URL is the one that was asked: where a redirect leads may hold a key.
    """
    status = response.status_code
    if status not in (httpx.codes.OK, httpx.codes.PARTIAL_CONTENT):
        to_do = _TO_DO.get(status, _SERVER if response.is_server_error else _ODD)
        return f"{url}: answered {status}: {to_do}"
    if response.headers.get("Content-Type", "").partition(";")[0].strip() == "text/html":
        return f"{url}: a web page came in its place, a proxy's or a login's: open it in a browser"
    return ""


def is_passing(response: httpx.Response) -> bool:
    """Whether the same question may be answered later."""
    return response.is_server_error or response.status_code in _PASSING


def no_answer(error: httpx.RequestError, url: str) -> str:
    """Why there is no answer, or no more of it, and what to do."""
    reason = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        return f"{url}: its certificate is not trusted: name the site's CA in SSL_CERT_FILE"
    return f"{url}: no answer ({reason}): look at network, name and proxy (HTTPS_PROXY, NO_PROXY)"


def may_pass(error: httpx.RequestError) -> bool:
    """Whether the same question may be answered later: a broken connection, not a bad address."""
    return (
        isinstance(error, httpx.TransportError)
        and not isinstance(error, httpx.UnsupportedProtocol)
        and "CERTIFICATE_VERIFY_FAILED" not in str(error)
    )
