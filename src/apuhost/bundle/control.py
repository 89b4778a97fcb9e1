"""The control file of a Debian package, read once: a process for each of them takes seconds."""

import subprocess
from pathlib import Path

from apuhost.bundle import blobs
from apuhost.bundle.item import BundleError


def of(file: Path) -> str:
    """A package's control file; it is kept beside the package, whose name is its hash.

    Raises:
        BundleError: it is no package.
    """
    return blobs.beside(file, "control", lambda: _read(file)).decode(errors="surrogateescape")


def _read(file: Path) -> bytes:
    command = ["dpkg-deb", "--field", str(file)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise BundleError("dpkg-deb is not on this machine: install dpkg") from error
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise BundleError(f"{file}: no Debian package: {said}")
    return done.stdout
