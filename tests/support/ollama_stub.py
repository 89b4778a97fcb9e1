"""A stub of Ollama's HTTP API on loopback: it says what a test puts in its mouth, byte for byte."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Answer = bytes | Callable[[bytes], bytes]

TIMEOUT_S = 20


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    line: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Stub:
    """A server on 127.0.0.1. `answers` are bodies by path, or whole replies that begin with HTTP/.

    An answer that is callable gets the request's body; what is not in `answers` is 404. Every
    connection is closed after its answer, as Ollama does for HTTP/1.0.
    """

    port: int
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        """Method and path of every request, in order."""
        return [request.line.rpartition(" ")[0] for request in self.requests]

    def bodies(self, path: str) -> list[object]:
        """The JSON bodies that came for a path."""
        sent = [request for request in self.requests if request.line.split(" ")[1] == path]
        return [json.loads(request.body) for request in sent]

    def reply(self, request: Request) -> bytes:
        """The whole HTTP reply to a request."""
        answer = self.answers.get(request.line.split(" ")[1])
        if answer is None:
            return b"HTTP/1.0 404 Not Found\r\n\r\n404 page not found"
        content = answer if isinstance(answer, bytes) else answer(request.body)
        if content.startswith(b"HTTP/"):
            return content
        return b"HTTP/1.0 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n" + content


@contextmanager
def ollama(answers: Mapping[str, Answer], port: int = 0) -> Iterator[Stub]:
    """A stub at work; with port 0 on one that is free."""
    with socket.create_server(("127.0.0.1", port)) as listening:
        stub = Stub(listening.getsockname()[1], dict(answers))
        thread = threading.Thread(target=_serve, args=(stub, listening), daemon=True)
        thread.start()
        try:
            yield stub
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(TIMEOUT_S)


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def ndjson(*objects: Mapping[str, object]) -> bytes:
    """Objects as Ollama streams them."""
    return b"".join(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in objects)


def _serve(stub: Stub, listening: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=_answer, args=(stub, connection), daemon=True).start()


def _answer(stub: Stub, connection: socket.socket) -> None:
    connection.settimeout(TIMEOUT_S)
    with suppress(OSError, ValueError, IndexError), connection:
        request = _read(connection)
        stub.requests.append(request)
        connection.sendall(stub.reply(request))


def _read(connection: socket.socket) -> Request:
    with connection.makefile("rb") as stream:
        line = stream.readline().decode().strip()
        fields = iter(lambda: stream.readline().decode().strip(), "")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (each.partition(":") for each in fields)
        }
        return Request(line, headers, stream.read(int(headers.get("content-length", 0))))
