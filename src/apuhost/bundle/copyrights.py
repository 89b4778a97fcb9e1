"""The licences of a Debian package, as its own copyright file names them.

In the machine-readable form (Debian's copyright-format 1.0) these are the short names of its
License fields; of one in words only its place is told, since nothing is guessed.
"""

import posixpath
import re
import subprocess
import tarfile
from pathlib import Path

from apuhost.bundle import blobs

UNKNOWN = "unknown"
"""Of what cannot be read; who says nothing is another matter."""

_DOCUMENTS, _COMMON = "usr/share/doc/", "usr/share/common-licenses/"
_MOST_BYTES = 4 * 1024 * 1024
_FORMAT = re.compile(r"^Format(?:-Specification)?:.*(?:copyright-format|dep5)", re.IGNORECASE)
_LICENCE = re.compile(r"^License:[ \t]*(\S.*?)[ \t\r]*$", re.MULTILINE)


def of(file: Path, name: str, control: str) -> str:
    """What a package's control file says of its licence, or its copyright file; "" if neither."""
    if found := _LICENCE.search(control):
        return found[1]
    try:
        kept = blobs.beside(file, "licences", lambda: _read(file, name).encode())
    except (tarfile.TarError, ValueError):  # of a package that dpkg-deb cannot unpack
        return UNKNOWN
    return kept.decode(errors="replace")


def said(text: str, name: str) -> str:
    """The licences in a copyright file's text."""
    if not text.strip():
        return ""
    if _FORMAT.match(text.lstrip("\ufeff\r\n")):
        return "; ".join(dict.fromkeys(_LICENCE.findall(text)))
    return f"in words: {_DOCUMENTS}{name}/copyright"


def led(target: str, name: str) -> str:
    """Where a link in the copyright file's place leads: to a common licence, or another package."""
    if target.startswith(_COMMON):
        return target.removeprefix(_COMMON)
    other = target.removeprefix(_DOCUMENTS).partition("/")[0]
    return f"as {other}" if target.startswith(_DOCUMENTS) and other != name else UNKNOWN


def _read(file: Path, name: str) -> str:
    folder = f"{_DOCUMENTS}{name}"
    places = (folder, f"{folder}/copyright")
    command = ["dpkg-deb", "--fsys-tarfile", str(file)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process,
        tarfile.open(fileobj=process.stdout, mode="r|") as archive,
    ):
        try:
            for member in archive:
                if posixpath.normpath(member.name) in places and not member.isdir():
                    return _stated(archive, member, name)
        finally:
            process.terminate()  # what follows of gigabytes is of no use
    return ""


def _stated(archive: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> str:
    if member.issym():
        place = posixpath.dirname(posixpath.normpath(member.name))
        return led(posixpath.normpath(posixpath.join("/", place, member.linkname)).strip("/"), name)
    stream = archive.extractfile(member) if member.isreg() else None  # a stream has no way back
    return said(stream.read(_MOST_BYTES).decode(errors="replace"), name) if stream else UNKNOWN
