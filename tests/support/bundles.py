"""A small signed bundle in a folder, with a file of every kind."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from apuhost import lockfile
from apuhost.bundle import manifest, signature
from apuhost.lockfile import Lock, Target

IDENTITY = "release@site"
CREATED = "2026-11-30T09:00:00+00:00"

CONTENTS = {
    "images/oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
    "images/index.json": b"{}",
    "images/blobs/sha256/aa": b"a layer" * 700,
    "apt/pool/docker.io_26.1_amd64.deb": b"a deb" * 300,
    "apt/dists/trixie/InRelease": b"signed",
    "models/manifests/registry%3A5000/library/tiny/latest": b"{}",
    "models/blobs/sha256-bb": b"weights" * 2000,
    "wheels/six-1.16.0-py2.py3-none-any.whl": b"a wheel" * 100,
    "toolkit/README ä 가.md": b"read me",
    "toolkit/empty": b"",
}


def locked(serial: int = 3) -> Lock:
    """A lock of nothing."""
    return Lock(serial, CREATED, "0.1.0", Target("debian", "trixie", "amd64", "3.13"))


def key(path: Path, passphrase: str = "") -> Path:
    """A new key, beside it its public half."""
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", str(path)]
    subprocess.run(words, check=True)
    return path


def public(key: Path) -> str:
    """The public half, as a list of signers has it."""
    return key.with_suffix(".pub").read_text().strip()


def write(
    folder: Path, key: Path, serial: int = 3, contents: Mapping[str, bytes] = MappingProxyType({})
) -> None:
    """Write and sign a bundle; `contents` are further files, or other ones."""
    files = {**CONTENTS, "lock.json": lockfile.as_text(locked(serial)).encode(), **contents}
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    entries = [manifest.entry(path, content) for path, content in files.items()]
    listed = manifest.made(serial, CREATED, "0.1.0", entries)
    (folder / manifest.NAME).write_text(manifest.as_text(listed), encoding="utf-8")
    signature.sign(folder / manifest.NAME, key)
