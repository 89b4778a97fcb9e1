"""One llama-server process: started, watched while it loads, asked, ended.

Its output goes to the container's log as it is; on the way it is read for memory and errors.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from typing import Any

from .durations import SECOND
from .memory import Accounting
from .slog import Log

_ERRORS = re.compile(
    r"(?:panic:|fatal error:|error:|Error:|error loading model|GGML_ASSERT|llama_init_from_model:)"
    r".*"
)
_OUT_OF_MEMORY = re.compile(
    r"out of (?:device )?memory|failed to allocate|allocation failed|not enough memory|"
    r"insufficient memory|vk_error_out_of_device_memory|erroroutofmemory",
    re.IGNORECASE,
)
_POLL_SECONDS = 0.25
_ANSWER_SECONDS = 600  # for a token; a simulated or an emulated machine is slow


class LoadError(Exception):
    """A model that could not be loaded, in Ollama's words."""


class RunnerError(Exception):
    """A request that llama-server refused or broke off.

    Attributes:
        status: the HTTP status to answer with.
    """

    def __init__(self, message: str, status: int = 500) -> None:
        super().__init__(message)
        self.status = status


class Runner:
    """A llama-server with one model."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], port: int, log: Log
    ) -> None:
        self.port = port
        self.environ = environ
        self.accounting = Accounting()
        self._log = log
        self._errors: list[str] = []
        self._started = self._last_output = time.monotonic()
        log.info("starting llama-server", at="llama_server.go", cmd=" ".join(command))
        self._process = subprocess.Popen(
            command, env=dict(environ), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._pass_on, daemon=True)
        self._reader.start()

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    @property
    def error(self) -> str:
        """What it complained of."""
        return "\n".join(self._errors)

    def wait_until_ready(self, stall: int) -> None:
        """Wait until it answers prompts.

        Args:
            stall: nanoseconds without any output after which it is given up.

        Raises:
            LoadError: it ended, or fell silent for too long.
        """
        self._log.info("waiting for llama-server to start responding", at="llama_server.go")
        last = ""
        while (status := self._status()) != "ready":
            if not self.alive:
                raise LoadError(self._epitaph())
            if (time.monotonic() - self._last_output) * SECOND > stall:
                raise LoadError(f"timed out waiting for llama-server to start - {self.error}")
            if status != last:
                self._log.info(
                    "waiting for llama-server to become available", at="llama_server.go",
                    status=f"llm server {status}",
                )  # fmt: skip
            last = status
            time.sleep(_POLL_SECONDS)
        self._errors.clear()
        seconds = time.monotonic() - self._started
        self._log.info(f"llama-server started in {seconds:.2f} seconds", at="llama_server.go")

    def ask(self, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401  (JSON)
        """One request to llama-server's own API, one JSON answer.

        Raises:
            RunnerError: it refused, or is gone.
        """
        return json.loads(b"".join(self._post(path, body)))

    def stream(self, path: str, body: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """One request, answered by server-sent events.

        Raises:
            RunnerError: it refused, or is gone.
        """
        for line in self._post(path, body):
            event = line.strip().removeprefix(b"data: ")
            if event and not event.startswith(b":") and event != b"[DONE]":
                yield json.loads(event)

    def stop(self) -> None:
        """End it at once and wait for that."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _post(self, path: str, body: Mapping[str, object]) -> Iterator[bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=_ANSWER_SECONDS)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            if answer.status != 200:  # noqa: PLR2004  (HTTP)
                raise RunnerError(_message(answer.read()), answer.status)
            yield from answer
        except (OSError, HTTPException) as error:
            raise RunnerError(
                "model runner has unexpectedly stopped, this may be due to resource limitations or"
                f" an internal error, check ollama server logs for details: {self.error or error}"
            ) from error
        finally:
            connection.close()

    def _status(self) -> str:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=0.2)
        try:
            connection.request("GET", "/health")
            answer = connection.getresponse()
            answer.read()
        except (OSError, HTTPException):
            return "not responding"
        finally:
            connection.close()
        return "ready" if answer.status == 200 else "loading model"  # noqa: PLR2004  (HTTP)

    def _epitaph(self) -> str:
        status = self._process.wait()
        self._reader.join()
        ended = f"exit status {status}" if status >= 0 else f"signal: {-status}"
        if self.error:
            self._log.error(
                "llama-server terminated", at="llama_server.go", error=ended, exit=status
            )
        return f"llama-server process has terminated: {ended}" + (
            f": {self.error}" if self.error else ""
        )

    def _pass_on(self) -> None:
        for raw in self._process.stdout or ():
            self._last_output = time.monotonic()
            self._log.raw(raw)
            line = raw.decode(errors="replace").rstrip()
            self.accounting.read(line)
            if match := _ERRORS.search(line):
                self._errors.append(match[0])
            elif _OUT_OF_MEMORY.search(line):
                self._errors.append(line)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _message(body: bytes) -> str:
    text = body.decode(errors="replace").strip()
    try:
        error = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        return text
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)
