"""A file server over TLS with Range, as a mirror's nginx, whose answers a test may break."""

import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

MODIFIED = 1_790_000_000
HERE = "127.0.0.1"
_BLOCK = 64 * 1024


@dataclass
class Files:
    """What is served, by path, and how: `busy` requests get 503 first, of `cut` only so many bytes.

    `asked` are the paths of all requests, each with its Range.
    """

    port: int
    certificate: Path
    texts: dict[str, bytes] = field(default_factory=dict)
    busy: int = 0
    cut: int | None = None
    pause_s: float = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """What every address begins with."""
        return f"https://{HERE}:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    files: Files
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        files, wanted = self.files, self.headers.get("Range", "")
        path = unquote(self.path)
        files.asked.append((path, wanted))
        content = files.texts.get(path)
        if files.busy:
            files.busy -= 1
            self._answer(503, b"busy")
        elif content is None:
            self._answer(404, b"not found")
        else:
            self._give(content, wanted)

    def _give(self, content: bytes, wanted: str) -> None:
        same = self.headers.get("If-Range") in (None, formatdate(MODIFIED, usegmt=True))
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and same else 0
        if start >= len(content) > 0:
            self._answer(416, b"")
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.send_header("Last-Modified", formatdate(MODIFIED, usegmt=True))
        self.send_header("Accept-Ranges", "bytes")
        if start:
            shown = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.send_header("Content-Range", shown)
        self.end_headers()
        self._send(content[start:])

    def _send(self, content: bytes) -> None:
        cut, self.files.cut = self.files.cut, None
        for at in range(0, min(len(content), cut or len(content)), _BLOCK):
            self.wfile.write(content[at : at + _BLOCK])
            self.wfile.flush()
            time.sleep(self.files.pause_s)
        if cut:
            self.close_connection = True

    def _answer(self, status: int, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[Files]:
    """A server on loopback, with a certificate of a CA of its own."""
    certificate, key = certified(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.with_name("server.crt"), key)
    handler = type("Handler", (_Handler,), {})
    with ThreadingHTTPServer((HERE, 0), handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # who is cut, hangs up
        server.socket = context.wrap_socket(server.socket, server_side=True)
        handler.files = Files(server.server_address[1], certificate)  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield handler.files  # type: ignore[attr-defined]
        finally:
            server.shutdown()


def certified(folder: Path) -> tuple[Path, Path]:
    """A CA, whose certificate this is, and the key of a server that it signed for loopback."""
    ca, ca_key = folder / "ca.crt", folder / "ca.key"
    made = ("-x509", "-config", "/dev/null", "-newkey", "ec", "-pkeyopt")
    common = (*made, "ec_paramgen_curve:P-256", "-noenc", "-days", "30")
    _openssl(
        *common, "-subj", "/CN=ca", "-out", str(ca), "-keyout", str(ca_key),
        "-addext", "basicConstraints=critical,CA:TRUE,pathlen:0",
        "-addext", "keyUsage=critical,keyCertSign,cRLSign",
    )  # fmt: skip
    certificate, key = folder / "server.crt", folder / "server.key"
    _openssl(
        *common, "-subj", "/CN=server", "-out", str(certificate), "-keyout", str(key),
        "-addext", f"subjectAltName=IP:{HERE}", "-addext", "basicConstraints=critical,CA:FALSE",
        "-addext", "extendedKeyUsage=serverAuth", "-addext", "authorityKeyIdentifier=keyid",
        "-CA", str(ca), "-CAkey", str(ca_key),
    )  # fmt: skip
    return ca, key


def _openssl(*words: str) -> None:
    subprocess.run(["openssl", "req", *words], check=True, capture_output=True)
