"""The site's mirror, as a host knows it: its certificate, its apt key, the bundle's lock."""

from dataclasses import dataclass

from apuhost import lockfile
from apuhost.lockfile import Lock, LockError
from apuhost.probes import files
from apuhost.probes.files import TextFile

FOLDER = "/etc/apuhost/mirror"
CERTIFICATE = f"{FOLDER}/ca.crt"
APT_KEY = f"{FOLDER}/apt.asc"
LOCK = f"{FOLDER}/lock.json"

COMMAND = files.command(f"{FOLDER}/*")


@dataclass(frozen=True)
class Mirror:
    """The files of FOLDER; `lock` is None without one, and where `damage` says what is wrong."""

    files: tuple[TextFile, ...]
    lock: Lock | None
    damage: str

    def text(self, path: str) -> str | None:
        """Return the text of a file, or None: there is no such file."""
        return _text(self.files, path)


def parse(text: str) -> Mirror:
    """Read the frames that COMMAND prints.

    Raises:
        ParseError: the frames do not add up.
    """
    found = files.parse_files(text)
    locked = _text(found, LOCK)
    if locked is None:
        return Mirror(found, None, "")
    try:
        return Mirror(found, lockfile.parse(locked), "")
    except LockError as error:
        return Mirror(found, None, f"{LOCK}: {error}")


def _text(found: tuple[TextFile, ...], path: str) -> str | None:
    return next((file.text for file in found if file.path == path), None)
