"""Readings of a host in a file, for an executor whose steps are processes of their own."""

import json
from collections.abc import Mapping
from pathlib import Path

from apuhost.round_trip import Reading


def load(file: Path) -> dict[str, Reading]:
    """What was kept; nothing where there is no file."""
    if not file.exists():
        return {}
    kept = json.loads(file.read_text(encoding="ascii"))
    return {name: Reading(*parts) for name, parts in kept.items()}


def save(file: Path, readings: Mapping[str, Reading]) -> None:
    """Keep these, and no others, whole or not at all."""
    kept = {name: (found.text, found.status) for name, found in readings.items()}
    new = file.with_suffix(".new")
    new.write_text(json.dumps(kept), encoding="ascii")
    new.replace(file)
