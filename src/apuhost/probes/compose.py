"""The compose project of ours, as it lies on the host.

Compose files of other people stay there: they may hold passwords, and docker tells what it made
of them (containers.py).
"""

from dataclasses import dataclass

from apuhost.probes import files
from apuhost.probes.files import TextFile

FOLDER = "/etc/apuhost/ollama"
COMMAND = files.command(f"{FOLDER}/*.yaml")


@dataclass(frozen=True)
class Compose:
    """The files of the project."""

    files: tuple[TextFile, ...]

    def text(self, path: str) -> str | None:
        """Return a file's text, or None: there is no such file."""
        return next((file.text for file in self.files if file.path == path), None)


def parse(text: str) -> Compose:
    """Read the framed files that COMMAND prints.

    Raises:
        ParseError: the frames do not add up.
    """
    return Compose(files.parse_files(text))
