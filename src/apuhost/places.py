"""Where apuhost keeps its own files on the controller, by the XDG base directory specification."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile

from apuhost.errors import ApuhostError


class HomelessError(ApuhostError):
    """This user has no folder of its own."""


def home() -> Path:
    """The user's own folder.

    Raises:
        HomelessError: HOME is not set, and no passwd entry names one.
    """
    try:
        return Path.home()
    except RuntimeError as error:
        raise HomelessError(f"user {os.getuid()} has no home directory: set HOME") from error


def state_directory() -> Path:
    """Where what a later run needs is kept."""
    return _user_directory("XDG_STATE_HOME", ".local/state")


def records() -> Path:
    """Where small files tell what was seen: $APUHOST_STATE, or else the state directory."""
    chosen = Path(os.environ.get("APUHOST_STATE", ""))
    return chosen if chosen.is_absolute() else state_directory()


def keep(path: Path, text: str) -> None:
    """Write such a file, whole or not at all, for this user alone.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with NamedTemporaryFile("w", dir=path.parent, prefix=".", delete=False) as new:
        try:
            new.write(text)
            new.flush()
            os.fsync(new.fileno())
            Path(new.name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(new.name).unlink()
            raise


def try_to_write(folder: Path) -> None:
    """Make a file there that nobody sees: what a mode says is not all (read-only file systems).

    Raises:
        OSError: nothing can be written there.
    """
    with TemporaryFile(dir=folder):
        pass


def cache_directory() -> Path:
    """Where what can be made again is kept."""
    return _user_directory("XDG_CACHE_HOME", ".cache")


def config_directory() -> Path:
    """Where what a person would miss is kept: keys."""
    return _user_directory("XDG_CONFIG_HOME", ".config")


def _user_directory(variable: str, default: str) -> Path:
    """A relative value is ignored, as the specification says."""
    chosen = Path(os.environ.get(variable, ""))
    return (chosen if chosen.is_absolute() else home() / default) / "apuhost"
