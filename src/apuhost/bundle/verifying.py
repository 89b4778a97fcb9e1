"""A bundle that may be used: signed by one of ours, whole, and no older than what was here."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from apuhost import lockfile
from apuhost.bundle import hashing, manifest, plain, serials, signature
from apuhost.bundle.hashing import Told
from apuhost.bundle.manifest import LICENCES, LOCK, Manifest, ManifestError
from apuhost.bundle.plain import NotPlainError
from apuhost.bundle.refusal import DamagedError, Fault, RefusedError
from apuhost.bundle.signature import Signer
from apuhost.lockfile import Lock, LockError

MOST_BYTES = 64 * 1024 * 1024
"""Of a file that is read whole."""

_STATED = TypeAdapter(dict[str, str])


@dataclass(frozen=True)
class Bundle:
    """A folder whose every file was as the signed manifest says."""

    folder: Path
    manifest: Manifest
    lock: Lock
    signer: Signer


def verified(folder: Path, signers: Path, told: Told, reason: str = "") -> Bundle:
    """The bundle in a folder: first the signature, then every hash, then what it says.

    Args:
        folder: where the bundle is.
        signers: ssh-keygen's list of allowed signers, which came another way than the bundle.
        told: is told of bytes as they are hashed, from several threads.
        reason: why a bundle is let in that is older than the newest that was here.

    Raises:
        RefusedError: not signed by one of them, damaged (DamagedError with all faults), or older.
        BundleError: what it takes to judge it is not there.
    """
    listed, signer = signed(folder, signers)
    if faults := hashing.faults(folder, listed, told):
        raise DamagedError(str(folder), faults)
    locked = _lock(folder, listed)
    serials.settle(locked, reason)
    return Bundle(folder, listed, locked, signer)


def signed(folder: Path, signers: Path) -> tuple[Manifest, Signer]:
    """The manifest and who signed it, of the very bytes that were signed.

    Raises:
        RefusedError: not signed by one of them, or no manifest.
        BundleError: the list of signers cannot be used.
    """
    path = folder / manifest.NAME
    found = signature.verify(path, signers, manifest.MOST_BYTES)
    try:
        return manifest.parse(found.content), found.signer
    except ManifestError as error:
        raise RefusedError(f"{path}: {error}") from error


def licences(folder: Path, listed: Manifest) -> dict[str, str]:
    """The licences by path, of the very bytes whose hash is the manifest's.

    Raises:
        RefusedError: they are other ones.
    """
    if listed.entry(LICENCES) is None:
        return {}
    try:
        return _STATED.validate_json(content(folder, LICENCES, listed))
    except (NotPlainError, ValidationError) as error:
        raise RefusedError(f"{folder / LICENCES}: {error}") from error


def _lock(folder: Path, listed: Manifest) -> Lock:
    """The lock, of the very bytes whose hash is the manifest's."""
    try:
        found = lockfile.parse(content(folder, LOCK, listed).decode())
    except (NotPlainError, LockError, UnicodeDecodeError) as error:
        raise RefusedError(f"{folder / LOCK}: {error}") from error
    about = (found.serial, found.created, found.apuhost)
    if about != (listed.serial, listed.created, listed.apuhost):
        raise RefusedError(f"{folder}: {LOCK} and {manifest.NAME} are of two bundles")
    return found


def content(folder: Path, name: str, listed: Manifest) -> bytes:
    """A small file of a bundle: the very bytes whose hash is the manifest's.

    Raises:
        NotPlainError: it cannot be read.
        DamagedError: it is another by now.
    """
    found = plain.content(folder / name, MOST_BYTES)
    if manifest.entry(name, found) != listed.entry(name):
        raise DamagedError(str(folder), [Fault(name, "not the manifest's")])
    return found
