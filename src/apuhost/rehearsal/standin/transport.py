"""HTTP requests to a model registry: certificates, proxies and words of errors as Go has them."""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    RemoteDisconnected,
)  # fmt: skip
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from . import VERSION, proxies, trust

AGENT = f"ollama/{VERSION} (amd64 linux) Go/go1.26.0"
_SECONDS = 30  # without a single byte, as Ollama gives up a stalled part
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_MOST_REDIRECTS = 10


class RequestError(Exception):
    """A request that failed below HTTP, in the words of Go's net/http."""


def read(answer: HTTPResponse, most: int) -> bytes:
    """The next bytes of an answer's body, none at its end.

    Raises:
        RequestError: the connection broke or fell silent.
    """
    try:
        return answer.read(most)
    except (OSError, HTTPException) as error:
        raise RequestError(str(error) or "unexpected EOF") from error


class Transport:
    """Requests in one environment; certificates are read when the first TLS request is made."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._context: ssl.SSLContext | None = None

    @contextmanager
    def request(
        self, method: str, url: str, headers: Mapping[str, str] | None = None
    ) -> Iterator[HTTPResponse]:
        """One request, no redirect followed.

        Raises:
            RequestError: no answer.
        """
        parts = urlsplit(url)
        connection = self._connection(parts)
        target = url if self._absolute(parts) else _target(parts)
        try:
            try:
                connection.request(method, target, headers={"User-Agent": AGENT, **(headers or {})})
                answer = connection.getresponse()
            except (OSError, HTTPException) as error:
                verb = method.capitalize()
                raise RequestError(f'{verb} "{url}": {_reason(error, parts)}') from error
            yield answer
        finally:
            connection.close()

    def location(self, url: str) -> str:
        """Where a blob's bytes are: the Location header of the first answer that leaves the host.

        Raises:
            RequestError: no answer, no such header, or a status that is neither 200 nor 307.
        """
        start = urlsplit(url).hostname
        for _ in range(_MOST_REDIRECTS + 1):
            with self.request("GET", url) as answer:
                status, found = answer.status, answer.headers.get("Location")
            target = urljoin(url, found) if found else ""
            if status in _REDIRECTS and target and urlsplit(target).hostname == start:
                url = target
                continue
            return _checked(status, target)
        raise RequestError("maximum redirects exceeded (10) for directURL")

    def _connection(self, url: SplitResult) -> HTTPConnection:
        proxy = proxies.choose(url, self._environ)
        host, port = (proxy or url).hostname or "", (proxy or url).port
        if url.scheme == "http":
            return HTTPConnection(host, port or 80, timeout=_SECONDS)
        if self._context is None:
            self._context = trust.context(self._environ)
        connection = HTTPSConnection(
            host, port or (80 if proxy else 443), timeout=_SECONDS, context=self._context
        )
        if proxy:
            connection.set_tunnel(url.hostname or "", url.port or 443, _credentials(proxy))
        return connection

    def _absolute(self, url: SplitResult) -> bool:
        return url.scheme == "http" and proxies.choose(url, self._environ) is not None


def _checked(status: int, target: str) -> str:
    if status not in {200, 307}:
        raise RequestError(f"unexpected status code {status}")
    if not target:
        raise RequestError("http: no Location header in response")
    return target


def _target(url: SplitResult) -> str:
    return f"{url.path or '/'}{'?' if url.query else ''}{url.query}"


def _credentials(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _reason(error: Exception, url: SplitResult) -> str:
    address = f"{url.hostname}:{url.port or (443 if url.scheme == 'https' else 80)}"
    text = str(error)
    if "Tunnel connection failed: " in text:  # a proxy's refusal, which Go prints without number
        return text.partition("failed: ")[2].partition(" ")[2]
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: x509: {_certificate_reason(error)}"
    words = {
        ConnectionRefusedError: f"dial tcp {address}: connect: connection refused",
        socket.gaierror: f"dial tcp: lookup {url.hostname}: no such host",
        TimeoutError: f"dial tcp {address}: i/o timeout",
        RemoteDisconnected: "EOF",
    }
    if "WRONG_VERSION_NUMBER" in text:
        return "http: server gave HTTP response to HTTPS client"
    return next((reason for kind, reason in words.items() if isinstance(error, kind)), text)


def _certificate_reason(error: ssl.SSLCertVerificationError) -> str:
    text = error.verify_message
    if "self-signed" in text or "unable to get local issuer" in text:
        return "certificate signed by unknown authority"
    if "expired" in text:
        return "certificate has expired or is not yet valid"
    return text
