"""Which program of the stand-in is meant, by the first argument."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

_USAGE = "usage: ollama serve|list|ps|show NAME|pull NAME|--version (or model DIRECTORY)\n"


def main(arguments: Sequence[str]) -> int:
    """Run one command; the exit status. Each loads only what it needs: starting takes time."""
    match list(arguments):
        case ["serve" | "start"]:
            from .serve import serve  # noqa: PLC0415

            return serve(os.environ)
        case ["model", folder]:
            from . import model  # noqa: PLC0415

            for name, digest in model.write(Path(folder)).items():
                sys.stdout.write(f"{digest} {name}\n")
            return 0
        case []:
            sys.stderr.write(_USAGE)
            return 1
        case _:
            from . import client  # noqa: PLC0415

            return client.run(arguments, os.environ)
