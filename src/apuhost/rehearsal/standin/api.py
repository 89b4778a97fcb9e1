"""The HTTP server: routes, answers whole or in pieces, the access log.

facts/ollama.md section 4. Names and forms of errors are Ollama's.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from . import VERSION, durations, prompt_handlers, requests, store_handlers
from .durations import SECOND
from .environment import Host
from .requests import ApiError
from .service import JSON, TEXT, Handler, Reply, Request, Service, reply

_NDJSON = "application/x-ndjson"
_BLOBS = "/api/blobs/"
_MINUTE = 60 * SECOND


def _running(_service: Service, _request: Request) -> Reply:
    return Reply(body=b"Ollama is running", kind=TEXT)


def _version(_service: Service, _request: Request) -> Reply:
    return reply({"version": VERSION})


ROUTES: Mapping[str, Mapping[str, Handler]] = {
    "/": {"GET": _running, "HEAD": _running},
    "/api/version": {"GET": _version, "HEAD": _version},
    "/api/status": {"GET": store_handlers.status},
    "/api/tags": {"GET": store_handlers.tags, "HEAD": store_handlers.tags},
    "/api/show": {"POST": store_handlers.show},
    "/api/pull": {"POST": store_handlers.pull},
    "/api/create": {"POST": store_handlers.create},
    "/api/copy": {"POST": store_handlers.copy},
    "/api/delete": {"DELETE": store_handlers.delete},
    _BLOBS: {"HEAD": store_handlers.has_blob, "POST": store_handlers.add_blob},
    "/api/ps": {"GET": prompt_handlers.ps},
    "/api/generate": {"POST": prompt_handlers.generate},
    "/api/chat": {"POST": prompt_handlers.chat},
}


class ClientGoneError(Exception):
    """The client hung up; what was done for it ends."""


class Handling(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    server_version = "standin"

    def __init__(self, service: Service, *connection: Any) -> None:  # noqa: ANN401
        self._service = service
        self._status = 0  # of the answer, once its head is sent
        super().__init__(*connection)

    def do_GET(self) -> None:
        """Any request: the routes know the methods."""
        began = time.monotonic()
        self._status = 0
        try:
            self._respond()
        except ApiError as error:
            self._refuse(error)
        except ClientGoneError:
            self.close_connection = True
        finally:
            self._log_access(time.monotonic() - began)

    do_HEAD = do_POST = do_DELETE = do_PUT = do_PATCH = do_GET  # noqa: N815  (http.server's)

    def log_message(self, *_: object) -> None:
        """The access log has a form of its own."""

    def _respond(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path).path
        blob = path.removeprefix(_BLOBS) if path.startswith(_BLOBS) else ""
        methods = ROUTES.get(_BLOBS if blob else path)
        handler = methods.get(self.command) if methods else None
        if not methods:
            answer: Reply | None = Reply(404, b"404 page not found", TEXT)
        elif not handler:
            answer = Reply(405, b"405 method not allowed", TEXT)
        else:
            answer = handler(self._service, Request(data, self._send, blob))
        if answer:
            self._whole(answer)
        else:
            self._chunk(b"")

    def _send(self, values: Mapping[str, object]) -> None:
        """One line of a streamed answer; the first one brings the head along."""
        if not self._status:
            chunked = {"Transfer-Encoding": "chunked"} if self._takes_chunks else {}
            self._head(200, {"Content-Type": _NDJSON, **chunked})
        self._chunk(requests.pack(values) + b"\n")

    @property
    def _takes_chunks(self) -> bool:
        """HTTP/1.0 has none: there the end of the connection ends the answer."""
        return self.request_version != "HTTP/1.0"

    def _chunk(self, data: bytes) -> None:
        """An empty one is the last."""
        self._write(b"%x\r\n%b\r\n" % (len(data), data) if self._takes_chunks else data)

    def _refuse(self, error: ApiError) -> None:
        try:
            if self._status:
                self._send({"error": str(error)})
                self._chunk(b"")
            else:
                self._whole(reply({"error": str(error)}, error.status))
        except ClientGoneError:
            self.close_connection = True

    def _whole(self, answer: Reply) -> None:
        kind = {"Content-Type": answer.kind} if answer.body or answer.kind != JSON else {}
        self._head(answer.status, {**kind, "Content-Length": str(len(answer.body))})
        if self.command != "HEAD":
            self._write(answer.body)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self._status = status
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        try:
            self.end_headers()
        except OSError as error:
            raise ClientGoneError from error

    def _write(self, data: bytes) -> None:
        try:
            self.wfile.write(data)
        except OSError as error:
            raise ClientGoneError from error

    def _log_access(self, seconds: float) -> None:
        address = str(self.client_address[0]).removeprefix("::ffff:")
        took = int(seconds * SECOND)
        now = datetime.now()
        line = access_line(now, self._status or 200, took, address, (self.command, self.path))
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def access_line(now: datetime, status: int, took: int, address: str, asked: tuple[str, str]) -> str:
    """A line of gin's access log; `took` in nanoseconds, `asked` is method and path."""
    shown = durations.text(took - took % SECOND if took > _MINUTE else took)
    method, path = asked
    return (
        f"[GIN] {now:%Y/%m/%d - %H:%M:%S} | {status:3d} | {shown:>13} | {address:>15} |"
        f' {method:<7}  "{path}"'
    )


class Server(ThreadingHTTPServer):
    """Listens from the start; answers only once `serve_forever` runs."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: Host) -> None:
        wildcard = host.host in {"", "0.0.0.0", "::"}  # noqa: S104  (what the image is set to)
        self.address_family = socket.AF_INET6 if wildcard or ":" in host.host else socket.AF_INET
        address = "::" if wildcard else host.host
        super().__init__((address, int(host.port)), BaseHTTPRequestHandler)

    def server_bind(self) -> None:
        """On both families where the address is the wildcard."""
        if self.address_family is socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    @property
    def address(self) -> str:
        """Where it listens, as Go prints it."""
        host, port = self.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"{shown}:{port}"

    def answer_with(self, service: Service) -> None:
        """Serve until `shutdown`."""
        self.RequestHandlerClass = partial(Handling, service)
        self.serve_forever()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """A connection that broke is no error of the server's."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
