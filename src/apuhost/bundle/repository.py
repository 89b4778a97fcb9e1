"""The apt repository of a bundle: its lists and their signature, the same for the same lock.

The packages' own control files give the lists, not the archive's lists of the day: a bundle can be
built again when those have changed. The hashes are the lock's, so nothing is hashed for it.
"""

import gzip
import hashlib
import io
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from apuhost.bundle import control, debs
from apuhost.bundle.item import BundleError, Text
from apuhost.bundle.openpgp import Key
from apuhost.lockfile import Blob, Deb, Lock, Target

_IDENTITY = ("Package", "Version", "Architecture")


def texts(lock: Lock, files: Callable[[Blob], Path], key: Key) -> Iterator[Text]:
    """The repository's own files; `files` tells where each package is, which was fetched before.

    Raises:
        BundleError: a package is not what the lock says, or GnuPG fails.
    """
    if not lock.debs:
        return
    created = datetime.fromisoformat(lock.created).astimezone(UTC)
    lists = packages_lists({deb: control.of(files(deb.file)) for deb in lock.debs}, lock.target)
    release = release_text(lists, lock.target, created)
    suite = f"apt/dists/{lock.target.suite}"
    yield Text("apt/key.asc", key.public())
    yield Text(f"{suite}/InRelease", key.clearsigned(release, created))
    yield Text(f"{suite}/Release", release)
    for path, content in lists.items():
        yield Text(f"{suite}/{path}", content)


def source(folder: Path, suite: str) -> str:
    """A bundle's repository as one of sources.list(5); its key is in it (apt 2.4 and newer)."""
    key = (folder / "apt/key.asc").read_text(encoding="ascii").splitlines()
    signed = "".join(f" {line or '.'}\n" for line in key)
    address = f"URIs: {(folder / 'apt').absolute().as_uri()}\nSuites: {suite}\nComponents: main\n"
    return f"Types: deb\n{address}Signed-By:\n{signed}"


def packages_lists(controls: Mapping[Deb, str], target: Target) -> dict[str, bytes]:
    """Packages and Packages.gz by their paths below the suite, from each package's control file.

    Raises:
        BundleError: a package is another than its name says.
    """
    path = f"main/binary-{target.architecture}/Packages"
    plain = "\n".join(_paragraph(deb, control) for deb, control in controls.items()).encode(
        errors="surrogateescape"  # as control.of decodes it
    )
    return {path: plain, f"{path}.gz": _gzipped(plain)}


def release_text(lists: Mapping[str, bytes], target: Target, created: datetime) -> bytes:
    """Release (Debian's RepositoryFormat). It holds for ever: what is on a shelf is not renewed."""
    sums = "".join(
        f" {hashlib.sha256(content).hexdigest()} {len(content)} {path}\n"
        for path, content in lists.items()
    )
    return f"""\
Origin: apuhost
Label: apuhost
Suite: {target.suite}
Codename: {target.suite}
Date: {format_datetime(created, usegmt=True)}
Architectures: {target.architecture}
Components: main
Description: packages of an apuhost bundle
SHA256:
{sums}""".encode()


def _paragraph(deb: Deb, control: str) -> str:
    fields = dict(line.split(": ", 1) for line in control.splitlines() if _is_field(line))
    found = tuple(fields.get(name) for name in _IDENTITY)
    asked = (deb.name, deb.version, deb.architecture)
    if found != asked:
        raise BundleError(f"{deb.url}: it is {found}, not {asked}: make the lock anew")
    digest = deb.file.digest.removeprefix("sha256:")
    return (
        f"{control.strip()}\nFilename: {debs.pool_path(deb)}\n"
        f"Size: {deb.file.size}\nSHA256: {digest}\n"
    )


def _is_field(line: str) -> bool:
    return not line.startswith((" ", "\t")) and ": " in line


def _gzipped(plain: bytes) -> bytes:
    """No name, no time, and one header on every Python: gzip.compress has several."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=0) as stream:
        stream.write(plain)
    return packed.getvalue()
