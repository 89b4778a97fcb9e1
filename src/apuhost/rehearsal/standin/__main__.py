"""Runs the stand-in from its folder: `python3 …/standin serve`, and the other commands."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    # As a package, so that its modules find one another and hide none of Python's own.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    sys.exit(importlib.import_module("standin.commands").main(sys.argv[1:]))
