"""A model registry that serves an Ollama store folder; runs alone, `python3 registry.py --help`.

facts/ollama.md sections 5.2 and 5.3. A blob is answered with a redirect to where its bytes are;
there the Location header stands again, since Ollama follows a redirect to the same host and needs
the header in the answer that it ends at. A model whose configuration `requires` a newer Ollama
than the one that asks (its User-Agent tells) is refused with 412: the registry refuses it, Ollama
itself never compares.
"""

from __future__ import annotations

import argparse
import json
import re
import ssl
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_MANIFEST = re.compile(r"/v2/([\w-]+)/([\w.-]+)/manifests/([\w.-]+)")
_BLOB = re.compile(r"/(v2/[\w-]+/[\w.-]+/blobs|data)/(sha256:[0-9a-f]{64})")
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_AGENT = re.compile(r"ollama/(\d+(?:\.\d+)*)")
_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
_TOO_OLD = (
    "\n\nThe model you are attempting to pull requires a newer version of Ollama.\n\n"
    "Please download the latest version at:\n\n\thttps://ollama.com/download\n\n"
)
_CHUNK = 1 << 16


class Handler(BaseHTTPRequestHandler):
    """Answers one connection from the store folder."""

    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds that a connection may be silent

    def __init__(self, store: Path, *connection: Any) -> None:  # noqa: ANN401
        self._store = store
        super().__init__(*connection)

    def do_GET(self) -> None:
        """Manifests and blobs."""
        if self.path in {"/v2", "/v2/"}:
            self._answer(200, b"{}", {"Content-Type": "application/json"})
        elif match := _MANIFEST.fullmatch(self.path):
            self._manifest(*match.groups())
        elif match := _BLOB.fullmatch(self.path):
            self._blob(match[1], match[2])
        else:
            self._unknown("NOT_FOUND", "page not found")

    do_HEAD = do_GET  # noqa: N815  (named by http.server)

    def _manifest(self, namespace: str, model: str, tag: str) -> None:
        found = sorted(self._store.glob(f"manifests/*/{namespace}/{model}/{tag}"))
        if not found:
            self._unknown("MANIFEST_UNKNOWN", "manifest unknown")
        elif self._too_old(data := found[0].read_bytes()):
            self._answer(412, _TOO_OLD.encode(), {"Content-Type": "text/plain; charset=utf-8"})
        else:
            self._answer(200, data, {"Content-Type": _TYPE})

    def _too_old(self, manifest: bytes) -> bool:
        digest = json.loads(manifest)["config"]["digest"]
        requires = json.loads(self._path(digest).read_bytes()).get("requires", "")
        asking = _AGENT.match(self.headers.get("User-Agent", ""))
        return bool(requires and asking) and _version(asking[1]) < _version(requires)  # type: ignore[index]

    def _blob(self, folder: str, digest: str) -> None:
        path = self._path(digest)
        if not path.is_file():
            self._unknown("BLOB_UNKNOWN", "blob unknown to registry")
        elif folder == "data" or self.command == "HEAD":
            self._bytes(path, f"/data/{digest}")
        else:
            self._answer(307, b"", {"Location": f"/data/{digest}"})

    def _bytes(self, path: Path, location: str) -> None:
        size = path.stat().st_size
        match = _RANGE.fullmatch(self.headers.get("Range", ""))
        start = int(match[1]) if match else 0
        end = min(int(match[2]) if match and match[2] else size - 1, size - 1)
        headers = {"Content-Length": str(end + 1 - start), "Location": location}
        if match:
            headers["Content-Range"] = f"bytes {start}-{end}/{size}"
        self._head(206 if match else 200, headers)
        if self.command == "GET":
            with suppress(OSError):  # Ollama reads the headers and leaves, to come with a range
                self._copy(path, start, end + 1)
                return
            self.close_connection = True

    def _copy(self, path: Path, start: int, end: int) -> None:
        with path.open("rb") as stream:
            stream.seek(start)
            while start < end:
                chunk = stream.read(min(_CHUNK, end - start))
                self.wfile.write(chunk)
                start += len(chunk)

    def _path(self, digest: str) -> Path:
        return self._store / "blobs" / digest.replace(":", "-")

    def _unknown(self, code: str, message: str) -> None:
        body = json.dumps({"errors": [{"code": code, "message": message}]}).encode()
        self._answer(404, body, {"Content-Type": "application/json"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self._head(status, {**headers, "Content-Length": str(len(body))})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


class Registry(ThreadingHTTPServer):
    """Each connection in a thread; the TLS handshake too, so that none holds up the others."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], store: Path, tls: ssl.SSLContext | None) -> None:
        super().__init__(address, partial(Handler, store))
        if tls:
            self.socket = tls.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until killed; `listening on HOST:PORT` on stdout tells that it is ready."""
    parser = argparse.ArgumentParser(description="A model registry that serves an Ollama store")
    parser.add_argument("--listen", required=True, metavar="ADDRESS:PORT", help="port 0: any")
    parser.add_argument("--store", required=True, type=Path, help="laid out as $OLLAMA_MODELS")
    parser.add_argument("--cert", type=Path, help="the server's certificate (PEM)")
    parser.add_argument("--key", type=Path, help="its key (PEM)")
    parser.add_argument("--plain", action="store_true", help="HTTP without TLS")
    options = parser.parse_args(arguments)
    if options.plain == bool(options.cert and options.key):
        parser.error("either --plain, or --cert and --key")
    host, _, port = options.listen.rpartition(":")
    tls = None if options.plain else _tls(options.cert, options.key)
    with Registry((host.strip("[]"), int(port)), options.store, tls) as registry:
        sys.stdout.write("listening on {}:{}\n".format(*registry.server_address[:2]))
        sys.stdout.flush()
        registry.serve_forever()


def _tls(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


if __name__ == "__main__":
    main()
