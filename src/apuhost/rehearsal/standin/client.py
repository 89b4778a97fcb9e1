"""The command line: `ollama list`, `ps`, `show`, `pull` and `--version`, against a server.

facts/ollama.md sections 4 and 6. The container's health check is `ollama list`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from typing import Any

from . import VERSION, environment, sizes
from .environment import Environ

_YEAR = 365 * 24
_SECONDS = 600


class ClientError(Exception):
    """What the command line says after `Error: `."""


class Client:
    """Talks to the server that OLLAMA_HOST names."""

    def __init__(self, environ: Environ) -> None:
        host = environment.host(environ)
        unspecified = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # noqa: S104
        self._address = (unspecified.get(host.host, host.host), int(host.port))

    def get(self, path: str) -> Any:  # noqa: ANN401  (JSON)
        """One answer in JSON."""
        return json.loads(b"".join(self._lines("GET", path, None)))

    def post(self, path: str, values: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """An answer line by line; its error, if it has one, is raised."""
        for line in self._lines("POST", path, values):
            parsed = json.loads(line)
            if "error" in parsed:
                raise ClientError(parsed["error"])
            yield parsed

    def _lines(
        self, method: str, path: str, values: Mapping[str, object] | None
    ) -> Iterator[bytes]:
        connection = HTTPConnection(*self._address, timeout=_SECONDS)
        try:
            connection.request(method, path, json.dumps(values).encode() if values else None)
            yield from connection.getresponse()
        except ConnectionRefusedError as error:
            raise ClientError(
                "could not connect to ollama server, run 'ollama serve' to start it"
            ) from error
        except (OSError, HTTPException) as error:
            raise ClientError(str(error)) from error
        finally:
            connection.close()


def listed(client: Client) -> str:
    """`ollama list`."""
    rows = [
        [model["name"], model["digest"][:12], sizes.decimal(model["size"]),
         when(model["modified_at"])]
        for model in client.get("/api/tags")["models"]
    ]  # fmt: skip
    return table(["NAME", "ID", "SIZE", "MODIFIED"], rows)


def running(client: Client) -> str:
    """`ollama ps`."""
    rows = [
        [model["name"], model["digest"][:12], sizes.decimal(model["size"]),
         processor(model["size"], model["size_vram"]), str(model["context_length"]),
         when(model["expires_at"])]
        for model in client.get("/api/ps")["models"]
    ]  # fmt: skip
    return table(["NAME", "ID", "SIZE", "PROCESSOR", "CONTEXT", "UNTIL"], rows)


def shown(client: Client, name: str) -> str:
    """`ollama show NAME`."""
    (reply,) = client.post("/api/show", {"model": name})
    info, details = reply["model_info"], reply["details"]
    architecture = info["general.architecture"]
    rows = {
        "architecture": architecture, "parameters": details["parameter_size"],
        "context length": info.get(f"{architecture}.context_length"),
        "embedding length": info.get(f"{architecture}.embedding_length"),
        "quantization": details["quantization_level"], "requires": reply.get("requires"),
    }  # fmt: skip
    sections = [("Model", [[key, str(value)] for key, value in rows.items() if value])]
    sections.append(("Capabilities", [[each] for each in reply["capabilities"]]))
    if "parameters" in reply:
        lines = reply["parameters"].splitlines()
        sections.append(("Parameters", [line.split(maxsplit=1) for line in lines]))
    return "".join(f"  {title}\n{_indented(lines)}\n" for title, lines in sections)


def pulled(client: Client, name: str, *, insecure: bool) -> Iterator[str]:
    """`ollama pull NAME`: each status once."""
    last = ""
    for progress in client.post("/api/pull", {"model": name, "insecure": insecure}):
        if (status := progress["status"]) != last:
            yield status
        last = status


def version(client: Client) -> str:
    """`ollama --version`: the server's, and the client's where they differ."""
    try:
        server = client.get("/api/version")["version"]
    except ClientError:
        return (
            "Warning: could not connect to a running Ollama instance\n"
            f"Warning: client version is {VERSION}\n"
        )
    warning = "" if server == VERSION else f"Warning: client version is {VERSION}\n"
    return f"ollama version is {server}\n{warning}"


def processor(size: int, on_gpu: int) -> str:
    """`100% GPU`, `100% CPU`, or how it is shared."""
    if on_gpu == 0:
        return "100% CPU"
    if on_gpu == size:
        return "100% GPU"
    if on_gpu > size:
        return "Unknown"
    on_cpu = round((size - on_gpu) / size * 100)
    return f"{on_cpu}%/{100 - on_cpu}% CPU/GPU"


def when(text: str, now: datetime | None = None) -> str:
    """`2 minutes ago`, `4 minutes from now`, `Forever` beyond twenty years."""
    delta = (datetime.fromisoformat(text) - (now or datetime.now(UTC))).total_seconds()
    if delta / 3600 / _YEAR >= 21:  # noqa: PLR2004  (Go cuts to whole years, then wants more than 20)
        return "Forever"
    return f"{_about(abs(delta))} {'from now' if delta > 0 else 'ago'}"


def _about(seconds: float) -> str:
    if seconds < 1:
        return "Less than a second"
    minutes, hours = int(seconds / 60), round(seconds / 3600)
    if minutes < 1:
        return "1 second" if int(seconds) == 1 else f"{int(seconds)} seconds"
    if hours < 1 or minutes < 60:  # noqa: PLR2004
        return "About a minute" if minutes == 1 else f"{minutes} minutes"
    if hours == 1:
        return "About an hour"
    for limit, size, name in ((48, 1, "hours"), (336, 24, "days"), (1440, 168, "weeks"),
                              (2 * _YEAR, 720, "months")):  # fmt: skip
        if hours < limit:
            return f"{hours // size} {name}"
    return f"{hours // _YEAR} years"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, four blanks between them and after the last."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return "".join(
        "".join(f"{cell:<{width}}    " for cell, width in zip(row, widths, strict=True)) + "\n"
        for row in [header, *rows]
    )


def _indented(rows: Sequence[Sequence[str]]) -> str:
    width = max((len(row[0]) for row in rows), default=0)
    return "".join(f"    {row[0]:<{width}}    {' '.join(row[1:])}".rstrip() + "\n" for row in rows)


def run(arguments: Sequence[str], environ: Environ) -> int:
    """One command; the exit status. Errors go to stderr as `Error: …`."""
    try:
        for text in _output(arguments, Client(environ)):
            sys.stdout.write(text)
    except ClientError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    return 0


def _output(arguments: Sequence[str], client: Client) -> Iterator[str]:
    names = [argument for argument in arguments[1:] if not argument.startswith("-")]
    match arguments[0], names:
        case (("list" | "ls"), _):
            yield listed(client)
        case "ps", _:
            yield running(client)
        case "show", [name]:
            yield shown(client, name)
        case "pull", [name]:
            insecure = "--insecure" in arguments
            yield from (f"{status}\n" for status in pulled(client, name, insecure=insecure))
        case (("--version" | "-v"), _):
            yield version(client)
        case command, _:
            raise ClientError(f'unknown command "{command}" for "ollama"')
