"""The control file of a Debian package, read once: a process for each of them takes seconds."""

import subprocess
import tempfile
from pathlib import Path

from apuhost.bundle.item import BundleError


def of(file: Path) -> str:
    """A package's control file; it is kept beside the package, whose name is its hash.

    Raises:
        BundleError: it is no package.
    """
    kept = file.with_name(f"{file.name}.control")
    try:
        return kept.read_bytes().decode(errors="surrogateescape")
    except FileNotFoundError:
        content = _read(file)
    with tempfile.NamedTemporaryFile(dir=kept.parent, prefix="new-", delete=False) as new:
        new.write(content)
    Path(new.name).replace(kept)
    return content.decode(errors="surrogateescape")


def _read(file: Path) -> bytes:
    done = subprocess.run(
        ["dpkg-deb", "--field", str(file)], stdin=subprocess.DEVNULL, capture_output=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise BundleError(f"{file}: no Debian package: {said}")
    return done.stdout
