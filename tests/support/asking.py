"""A command that asks Ollama for something, run against a stub of it behind a docker of ours."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from apuhost.round_trip import PROBE_TIMEOUT_S
from tests.support.ollama_stub import Answer, Stub, ollama

_DOCKER = """#!/bin/sh
case "$*" in
*'ps -aq'*) echo a1 ;;
*State.Running*) printf 'a1\\ttrue\\t/ollama\\t\\tollama/ollama\\n' ;;
*NetworkMode*) printf 'a1 running ollama_default\\n11434/tcp %s 127.0.0.1\\n' "$PORT" ;;
'logs --tail '[0-9]*' --since '[0-9]*' a1') cat "$LOG" ;;
*) exit 1 ;;
esac
"""


def ps(*names: str, separators: tuple[str, str] = (",", ":")) -> bytes:
    """What /api/ps answers when these models are loaded."""
    models = [{"name": name, "model": name, "details": {"family": "x"}} for name in names]
    return json.dumps({"models": models}, separators=separators).encode()


def printed(
    folder: Path, command: str, answers: Mapping[str, Answer], log: str = ""
) -> tuple[str, Stub]:
    """What a command prints on a host whose container publishes the stub's port, and logs this."""
    docker = folder / "docker"
    docker.write_text(_DOCKER)
    docker.chmod(0o755)
    (folder / "log").write_text(log)
    with ollama({"/api/version": b'{"version":"0.34.4"}', **answers}) as stub:
        path = f"{folder}:{os.environ['PATH']}"
        done = subprocess.run(
            ["timeout", str(PROBE_TIMEOUT_S), "sh", "-c", command],
            env={"LC_ALL": "C", "PATH": path, "PORT": str(stub.port), "LOG": f"{folder}/log"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode(), stub
