"""Where apuhost keeps its own files on the controller, by the XDG base directory specification."""

import os
from pathlib import Path


def state_directory() -> Path:
    """Where what a later run needs is kept."""
    return _user_directory("XDG_STATE_HOME", ".local/state")


def cache_directory() -> Path:
    """Where what can be made again is kept."""
    return _user_directory("XDG_CACHE_HOME", ".cache")


def _user_directory(variable: str, default: str) -> Path:
    """A relative value is ignored, as the specification says."""
    chosen = Path(os.environ.get(variable, ""))
    return (chosen if chosen.is_absolute() else Path.home() / default) / "apuhost"
