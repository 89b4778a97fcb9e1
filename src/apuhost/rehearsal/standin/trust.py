"""The certificates that are trusted, collected as Go does it on Linux.

The first bundle that exists, and besides it EVERY file in the certificates' folders: so one
mounted CA file is enough, whatever its name.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem", "/etc/ssl/cert.pem",
)  # fmt: skip
_FOLDERS = ("/etc/ssl/certs", "/etc/pki/tls/certs")


def context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """A client's TLS context; files that hold no certificate are passed over in silence."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for path in certificate_files(environ):
        try:
            made.load_verify_locations(cadata=path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
    return made


def certificate_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """SSL_CERT_FILE and SSL_CERT_DIR replace the usual places, as in Go."""
    chosen = environ.get("SSL_CERT_FILE")
    bundles = [Path(name) for name in ([chosen] if chosen else _BUNDLES)]
    yield from (path for path in bundles if path.is_file())
    named = environ.get("SSL_CERT_DIR")
    for folder in named.split(":") if named else _FOLDERS:
        if Path(folder).is_dir():
            yield from (path for path in sorted(Path(folder).iterdir()) if _counts(path))


def _counts(path: Path) -> bool:
    """Go leaves out links to a neighbour: they are the hashed names of files already read."""
    if path.is_symlink():
        target = path.readlink()
        return target.is_absolute() and target.parent != path.parent and path.is_file()
    return path.is_file()
