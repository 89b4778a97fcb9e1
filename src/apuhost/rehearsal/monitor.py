"""QEMU's monitor (QMP, JSON lines over a Unix socket): one command a connection."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import TextIO

from apuhost.rehearsal.process import RehearsalError

_SECONDS = 120.0


def execute(path: Path, command: str, **arguments: str) -> object:
    """Execute one QMP command and give its return value.

    Raises:
        RehearsalError: no QEMU listens there, or it refused the command.
    """
    try:
        with _connect(path) as connection, connection.makefile("rw", encoding="utf-8") as stream:
            stream.readline()  # the greeting
            for name, values in (("qmp_capabilities", {}), (command, arguments)):
                stream.write(json.dumps({"execute": name, "arguments": values}) + "\n")
                stream.flush()
                answer = _answer(stream, name)
            return answer
    except (OSError, ValueError) as error:
        raise RehearsalError(f"QEMU's monitor {path}: {error}") from error


def type_line(path: Path, line: str) -> str:
    """Type one line into QEMU's human monitor and give what it prints."""
    return str(execute(path, "human-monitor-command", **{"command-line": line})).strip()


def _answer(stream: TextIO, name: str) -> object:
    """The command's return value; events in between are not for us."""
    while line := stream.readline():
        message = json.loads(line)
        if "error" in message:
            raise RehearsalError(f"QEMU refused {name}: {message['error'].get('desc', '')}")
        if "return" in message:
            return message["return"]
    raise RehearsalError(f"QEMU ended during {name}")


def _connect(path: Path) -> socket.socket:
    """Connect by way of the folder's descriptor: a socket's path has 107 bytes at most."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_SECONDS)
        connection.connect(f"/proc/self/fd/{folder}/{path.name}")
        return connection
    finally:
        os.close(folder)
