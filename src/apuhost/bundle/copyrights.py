"""The licences of a Debian package, as its own copyright file names them.

In the machine-readable form (Debian's copyright-format 1.0) these are the short names of its
License fields; of one in words only its place is told, since nothing is guessed.
"""

import re
import subprocess
import tarfile
from pathlib import Path

from apuhost.bundle import blobs

_FORMAT = re.compile(r"^Format(?:-Specification)?:.*(?:copyright-format|dep5)", re.IGNORECASE)
_LICENCE = re.compile(r"^License:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)


def of(file: Path, name: str, control: str) -> str:
    """What a package's control file says of its licence, or its copyright file; "" if neither."""
    if found := _LICENCE.search(control):
        return found[1]
    kept = blobs.beside(file, "licence", lambda: said(*_copyright(file, name), name).encode())
    return kept.decode()


def said(text: str, link: str, name: str) -> str:
    """The licences in a copyright file's text; of a link to another package's, which one."""
    if link:
        return f"as {link.strip('./').removeprefix('usr/share/doc/').partition('/')[0]}"
    if not text:
        return ""
    if _FORMAT.match(text.lstrip("\n")):
        return "; ".join(dict.fromkeys(_LICENCE.findall(text)))
    return f"in words: usr/share/doc/{name}/copyright"


def _copyright(file: Path, name: str) -> tuple[str, str]:
    """The copyright file's text, or where it leads as a link."""
    folder = f"./usr/share/doc/{name}"
    command = ["dpkg-deb", "--fsys-tarfile", str(file)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process,
        tarfile.open(fileobj=process.stdout, mode="r|") as archive,
    ):
        try:
            for member in archive:
                if member.name in (folder, f"{folder}/copyright") and member.issym():
                    return "", member.linkname
                if member.name == f"{folder}/copyright":
                    stream = archive.extractfile(member)
                    return (stream.read().decode(errors="replace") if stream else ""), ""
        finally:
            process.terminate()  # what follows of gigabytes is of no use
    return "", ""
