"""A stand-in server from the checkout as a process, with a registry of models beside it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from apuhost.rehearsal import certificates, ports
from apuhost.rehearsal.standin import model

STANDIN = Path(model.__file__).parent
START_SECONDS = 60.0
_SERVE = """
import os, pathlib, sys
from apuhost.rehearsal.standin import gpu, serve
library, nodes = map(pathlib.Path, sys.argv[1:])
sys.exit(serve.serve(os.environ, gpu.Machine(library=library, nodes=nodes)))
"""


@dataclass
class Server:
    """A server that runs, its log, and how to ask it."""

    port: int
    log: Path
    process: "subprocess.Popen[bytes]"

    def ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> tuple[int, bytes]:
        """Status and body of one answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, json.dumps(body).encode() if body else None)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path: str) -> Any:  # noqa: ANN401
        """An answer in JSON."""
        return json.loads(self.ask("GET", path)[1])

    def post(self, path: str, **body: Any) -> list[dict[str, Any]]:  # noqa: ANN401
        """An answer's lines; one, if it was not streamed."""
        return [json.loads(line) for line in self.ask("POST", path, body)[1].splitlines()]

    def generate(self, model: str, **body: Any) -> dict[str, Any]:  # noqa: ANN401
        """A whole answer of /api/generate."""
        (answer,) = self.post("/api/generate", model=model, stream=False, **body)
        return answer

    def loaded(self) -> list[dict[str, Any]]:
        """What /api/ps lists."""
        found: list[dict[str, Any]] = self.get("/api/ps")["models"]
        return found

    def runners(self) -> dict[int, list[str]]:
        """Command lines of its children that hold a model, by process."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                parent = folder.joinpath("stat").read_text().rpartition(")")[2].split()[1]
                words = folder.joinpath("cmdline").read_bytes().decode().split("\0")[:-1]
                if int(parent) == self.process.pid and "--model" in words:
                    found[int(folder.name)] = words
        return found

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@dataclass(frozen=True)
class Registry:
    """A registry of models that runs, and the CA that its certificate is signed by."""

    port: int
    ca: Path
    digests: Mapping[str, str] = field(default_factory=dict)

    def name(self, model: str) -> str:
        """A model as it is pulled from here."""
        return f"127.0.0.1:{self.port}/library/{model}"


@contextmanager
def registry(folder: Path) -> Iterator[Registry]:
    """Serve the tiny models over TLS, with a CA of its own."""
    ca, certificate, key = (folder / name for name in ("ca.crt", "server.crt", "server.key"))
    ca_key = folder / "ca.key"
    signed = ["-CA", str(ca), "-CAkey", str(ca_key)]
    for command in (certificates.ca_command(ca, ca_key),
                    [*certificates.server_command(certificate, key), *signed]):  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)
    digests = model.write(folder / "store")
    (port,) = ports.free(1)
    command = [
        sys.executable, str(STANDIN / "registry.py"), "--listen", f"127.0.0.1:{port}",
        "--cert", str(certificate), "--key", str(key), "--store", str(folder / "store"),
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == f"listening on 127.0.0.1:{port}\n"
        yield Registry(port, ca, digests)
        process.kill()


@contextmanager
def serving(
    command: list[str], environ: Mapping[str, str], log: Path, port: int
) -> Iterator[Server]:
    """A server that answers; all that it started ends with it."""
    with log.open("ab") as stream, subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
        start_new_session=True, env={**os.environ, **environ},
    ) as process:  # fmt: skip
        server = Server(port, log, process)
        try:
            wait_until_ready(server)
            yield server
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def from_checkout(library: Path, nodes: Path) -> list[str]:
    """The command of a server whose files are elsewhere than in an image."""
    return [sys.executable, "-c", _SERVE, str(library), str(nodes)]


def wait_until_ready(server: Server) -> None:
    """HTTP is answered only when the GPUs are known."""
    until = time.monotonic() + START_SECONDS
    while True:
        assert server.process.poll() is None, server.log.read_text()[-2000:]
        assert time.monotonic() < until, server.log.read_text()[-2000:]
        with suppress(OSError):
            if server.ask("GET", "/api/version")[0] == 200:
                return
        time.sleep(0.05)
